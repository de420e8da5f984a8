"""What compiled callers may use of reactor.pyx."""

from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void run_reactor(Reactor *reactor) noexcept nogil

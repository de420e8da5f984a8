"""What compiled callers may use of handshakes.pyx."""

from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void run_handshakes(Reactor *reactor) noexcept nogil

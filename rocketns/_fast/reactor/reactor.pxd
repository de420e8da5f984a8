"""What compiled callers may use of reactor.pyx."""

from rocketns._fast.reactor.reactor_state cimport Reactor, Shared

cdef bint start_listening(Reactor *reactor, int listen_fd) noexcept nogil
cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil
cdef void free_reactor(Reactor *reactor) noexcept nogil
cdef void run_reactor(Reactor *reactor) noexcept nogil

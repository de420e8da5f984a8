"""What compiled callers may use of reactor.pyx."""

from libc.stdint cimport uint64_t

from rocketns._fast.reactor.reactor_state cimport Reactor, Shared

cdef extern from "<stdint.h>" nogil:
    const uint64_t LISTENING "UINT64_MAX"  # the epoll id of the listening sockets; no connection has it

cdef bint start_listening(Reactor *reactor, int listen_fd) noexcept nogil
cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil
cdef void free_reactor(Reactor *reactor) noexcept nogil
cdef void run_reactor(Reactor *reactor) noexcept nogil

"""What compiled callers may use of idling.pyx."""

from libc.stdint cimport int64_t

from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void close_some_idle(Reactor *reactor) noexcept nogil
cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil

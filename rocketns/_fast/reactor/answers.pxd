"""What compiled callers may use of answers.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void send_scratch(Reactor *reactor, Connection *connection) noexcept nogil
cdef bint may_ask(Reactor *reactor, Connection *connection) noexcept nogil
cdef bint refuse(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil
cdef size_t header_end(const uint8_t *frame, size_t size) noexcept nogil
cdef bint answer(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, bint was_deferred
) noexcept nogil

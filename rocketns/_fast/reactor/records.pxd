"""What compiled callers may use of records.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor
from rocketns._fast.tls.wire cimport RECORD_BYTES_MAX, Progress

cdef enum:
    # Room for plain text beside as many bytes as were received: what OpenSSL has of an unfinished record.
    UNFINISHED_RECORD_MAX = RECORD_BYTES_MAX + 1024

cdef void send_bytes(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil
cdef void send_wire(Reactor *reactor, Connection *connection) noexcept nogil
cdef void send_answers(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil
cdef void send_end(Reactor *reactor, Connection *connection) noexcept nogil
cdef size_t input_memory(const Connection *connection) noexcept nogil
cdef Progress open_received(
    Reactor *reactor, Connection *connection, size_t received, uint8_t *plain, size_t room, size_t *got
) noexcept nogil

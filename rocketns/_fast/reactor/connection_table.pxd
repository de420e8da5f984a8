"""What compiled callers may use of connection_table.pyx."""

from libc.stdint cimport int64_t, uint64_t, uint8_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor, Shared

cdef void remove_connection(Reactor *reactor, Connection *connection) noexcept nogil
cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil
cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil
cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil
cdef Connection *add_connection(Reactor *reactor, int fd, uint8_t listener) noexcept nogil
cdef void know_host(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil
cdef bint report_opened(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil
cdef bint move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil
cdef void refuse_connection(Reactor *reactor, Connection *connection, int ending, const char *reason) noexcept nogil
cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil
cdef int64_t lookups_of(Reactor *reactor, uint64_t id) noexcept nogil

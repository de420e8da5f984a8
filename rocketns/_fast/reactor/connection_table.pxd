"""What compiled callers may use of connection_table.pyx."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.policy cimport KnownPolicy, Policy
from rocketns._fast.codec.requests cimport RouteRequest
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor, Shared
from rocketns._fast.system.sockets cimport sockaddr_storage

cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil
cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil
cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil
cdef void add_connection(Reactor *reactor, int fd, uint8_t listener) noexcept nogil
cdef void know_host(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil
cdef bint report_opened(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil
cdef bint move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil
cdef void refuse_connection(Reactor *reactor, Connection *connection, int ending, const char *reason) noexcept nogil
cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil
cdef int64_t lookups_of(Reactor *reactor, uint64_t id) noexcept nogil

cdef bint turn_stranger_away(Policy *policy, int fd, const sockaddr_storage *address) noexcept nogil
cdef bint admit(Policy *policy, KnownPolicy *known, Connection *connection) noexcept nogil
cdef bint may_look_up(
    const KnownPolicy *known, const Connection *connection, const RouteRequest *request
) noexcept nogil
cdef void let_pass(Connection *connection, uint32_t generation) noexcept nogil

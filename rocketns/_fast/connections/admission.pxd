"""What compiled callers may use of admission.pyx."""

from libc.stdint cimport uint32_t

from rocketns._fast.access.policy cimport KnownPolicy, Policy
from rocketns._fast.codec.requests cimport RouteRequest
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.system.sockets cimport sockaddr_storage

cdef bint turn_stranger_away(Policy *policy, int fd, const sockaddr_storage *address) noexcept nogil
cdef bint admit(Policy *policy, KnownPolicy *known, Connection *connection) noexcept nogil
cdef bint may_look_up(
    const KnownPolicy *known, const Connection *connection, const RouteRequest *request
) noexcept nogil
cdef void let_pass(Connection *connection, uint32_t generation) noexcept nogil

"""Which view a lookup is answered for: looked up once a connection and file of views.

A topic's body is written under the same mutex, so an answer is of one file.
"""

from libc.string cimport memcmp, memcpy, memset

from rocketns._fast.access.networks cimport ADDRESS_BYTES, first_flags_of
from rocketns._fast.codec.compact_json cimport Text
from rocketns._fast.codec.route_request cimport RouteRequest
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor
from rocketns._fast.routes.slots cimport Routes

cdef extern from *:
    """
    /* Topics by which brokers find the members of their group: RocketMQ's TopicValidator. */
    static const char ROCKETNS_MEMBERS[] = "rmq_sys_SYNC_BROKER_MEMBER_";
    static const unsigned char ROCKETNS_IPV4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
    """
    const char *MEMBERS "ROCKETNS_MEMBERS"
    enum: MEMBERS_LENGTH "sizeof(ROCKETNS_MEMBERS) - 1"
    const unsigned char *IPV4_START "ROCKETNS_IPV4"

cdef enum:
    IPV4_START_BYTES = 12
    SUBSCRIBER_BYTES = 8  # of an IPv6 address, as hosts.pyx counts them


cdef inline int choose_view(const Reactor *reactor, const Connection *connection) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The twin of ``rocketns.views.views.Views.through``."""
    cdef const Routes *routes = reactor.shared.routes
    cdef unsigned char address[ADDRESS_BYTES]
    cdef bint is_anybodys = connection.is_announced and not reactor.shared.limits.trusts_announced
    if connection.listener:
        return routes.view_of_listener[connection.listener]
    if not connection.peer.is_known and not is_anybodys:
        return 0
    memcpy(address, connection.peer.address, ADDRESS_BYTES)
    if is_anybodys and memcmp(address, IPV4_START, IPV4_START_BYTES) != 0:  # the socket's, see handshakes.announce
        memset(address + SUBSCRIBER_BYTES, 0, ADDRESS_BYTES - SUBSCRIBER_BYTES)
    return first_flags_of(routes.view_networks, address)


cdef inline int view_of(const Reactor *reactor, Connection *connection, const RouteRequest *request) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The number of the view that a lookup is answered for; 0: none."""
    cdef const Text *topic = &request.topic
    cdef const Routes *routes = reactor.shared.routes
    if routes.views == 0 or connection.is_known or request.wants_announced:
        return 0
    if connection.view_generation != routes.view_generation:
        connection.view, connection.view_generation = <unsigned char>choose_view(reactor, connection), routes.view_generation
    if connection.view and topic.length >= MEMBERS_LENGTH and memcmp(topic.start, MEMBERS, MEMBERS_LENGTH) == 0:
        return 0
    return connection.view

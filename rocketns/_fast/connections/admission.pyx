"""Whether a connection may stay, and which of its lookups a reactor answers: decided by its networks, once a policy.

A turn compares the generation that the connection was judged by with the one in force: one comparison. A lookup costs
one more, unless it is guarded.
"""

from rocketns._fast.access.networks cimport MAY_LOOK_UP, Peer, flags_of, read_socket_address
from rocketns._fast.access.policy cimport Digest, copy_policy, digest_lookup, is_remembered
from rocketns._fast.connections.connection cimport FREE, GUARDED
from rocketns._fast.system.sockets cimport close
from rocketns._fast.system.threads cimport add, load, pthread_mutex_lock, pthread_mutex_unlock


cdef int flags_of_peer(const Policy *policy, const Peer *peer) noexcept nogil:
    """With the policy's mutex. A peer without an IP address is in no network, not even in ::/0."""
    return flags_of(policy.networks, peer.address) if peer.is_known and policy.networks != NULL else 0


cdef bint turn_stranger_away(Policy *policy, int fd, const sockaddr_storage *address) noexcept nogil:
    """Any reactor's thread. Close a connection that was just accepted if no network has its address; True if so.

    Where a PROXY header is to come, the balancer's own address must be in a network.
    """
    cdef Peer peer
    cdef bint is_stranger
    read_socket_address(address, &peer)
    pthread_mutex_lock(&policy.mutex)
    is_stranger = load(&policy.closes_strangers) and flags_of_peer(policy, &peer) == 0
    pthread_mutex_unlock(&policy.mutex)
    if is_stranger:
        close(fd)
        add(&policy.strangers_closed, 1)
    return is_stranger


cdef bint admit(Policy *policy, KnownPolicy *known, Connection *connection) noexcept nogil:
    """Reactor thread only. Judge a connection by the policy in force. False: it is a stranger, and must be closed."""
    cdef bint is_stranger
    pthread_mutex_lock(&policy.mutex)
    copy_policy(policy, known)
    connection.access_generation = <uint32_t>known.generation
    connection.access_flags = flags_of_peer(policy, &connection.peer)
    connection.lookups = GUARDED if policy.guards_lookups and not connection.access_flags & MAY_LOOK_UP else FREE
    is_stranger = load(&policy.closes_strangers) and connection.access_flags == 0
    pthread_mutex_unlock(&policy.mutex)
    if is_stranger:
        add(&policy.strangers_closed, 1)
    return not is_stranger


cdef bint may_look_up(
    const KnownPolicy *known, const Connection *connection, const RouteRequest *request
) noexcept nogil:
    """Reactor thread only. Whether a lookup of a connection whose lookups are not free may be answered by the reactor.

    ``known`` is of the generation that the connection was judged by: if another connection's turn brought a newer one,
    this turn began with `admit`.
    """
    cdef Digest digest
    return digest_lookup(request, &known.keys, &digest) and is_remembered(known.decisions, &digest)


cdef void let_pass(Connection *connection, uint32_t generation) noexcept nogil:
    """Reactor thread only. Answer the connection's lookups from now on: its peer may make them by its certificate.

    Control decided so by the policy of this generation. There is no effect if the connection was judged by another.
    """
    if connection.lookups == GUARDED and connection.access_generation == generation:
        connection.lookups = FREE

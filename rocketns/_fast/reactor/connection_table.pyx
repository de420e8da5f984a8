"""The connection table of a reactor: how connections enter it, may stay, and leave it.

The table is an array. A connection's id holds its index and a generation, which is never used twice. A message to a
closed connection finds another generation at the index, or none, and is dropped.

Whether a connection may stay, and which of its lookups a reactor answers, is decided by its networks, once a policy. A
turn compares the generation that the connection was judged by with the one in force: one comparison. A lookup costs one
more, unless it is guarded.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, strdup, strlen

from rocketns._fast.access.networks cimport MAY_LOOK_UP, Peer, flags_of, read_socket_address
from rocketns._fast.access.policy cimport Digest, copy_policy, digest_lookup, is_remembered
from rocketns._fast.connections.connection cimport (
    FAILED, FREE, GUARDED, PEER_CLOSED, count_held, drop_input, drop_output
)
from rocketns._fast.connections.hosts cimport (
    ADDRESS_ROOM, HOSTS, KINDS, TEXT_ROOM, claim_host, find_host, host_hash, leave_ring, release_host, write_peer
)
from rocketns._fast.connections.messages cimport (
    CLOSED, MOVE, OPENED, OPENED_LISTENER_SHIFT, REFUSED, Message, free_message, message_with, new_message, push
)
from rocketns._fast.reactor.reactor_state cimport (
    TABLE_MAX, assert_reactor, find_connection, handshake_thread, id_of, send_message
)
from rocketns._fast.system.hashing cimport hash_bytes
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLIN, EPOLLONESHOT, MSG_DONTWAIT, MSG_PEEK, close, epoll_ctl, epoll_event, recv
)
from rocketns._fast.system.threads cimport add, load, pthread_mutex_lock, pthread_mutex_unlock
from rocketns._fast.tls.openssl cimport X509, openssl

cdef enum:
    TABLE_MIN = 64


cdef void remove_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take it off the table, the totals, and the lists of holders and of stalled connections."""
    cdef int kind
    assert_reactor(reactor, "remove_connection")
    for kind in range(KINDS):
        count_held(&reactor.holders[kind], kind, connection, 0, reactor.now_ms)
    leave_ring(reactor.waiting, &connection.queued)
    pthread_mutex_lock(&reactor.table_mutex)
    reactor.connections[connection.index] = NULL
    pthread_mutex_unlock(&reactor.table_mutex)
    reactor.free_indexes[reactor.free_count] = connection.index
    reactor.free_count += 1
    add(&reactor.carried, -1)


cdef void free_connection(Connection *connection) noexcept nogil:
    """The owner of the connection only. It is in no table, and its descriptor is closed."""
    if connection.tls != NULL:
        openssl.SSL_free(connection.tls)
    drop_input(connection)
    drop_output(connection)
    free(connection.close_notice)
    free(connection.address)
    free(connection)


cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil:
    """The owner of the connection only. It is in no table. Close it, send control its close notice, free it."""
    close(connection.fd)
    if connection.close_notice != NULL:  # it counts as gone before it no longer counts as open
        add(&shared.gone, 1)
        add(&shared.hosts.hosts[connection.host].ended, 1)
    elif connection.host < HOSTS:
        release_host(shared.hosts, connection.host)  # else control does, when it takes note of the end
    add(&shared.connections, -1)
    if connection.close_notice != NULL:
        connection.close_notice.number = ending
        push(&shared.to_control, connection.close_notice)
        connection.close_notice = NULL
    free_connection(connection)


cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Reactor thread only. The connection is gone afterwards."""
    remove_connection(reactor, connection)
    release_connection(reactor.shared, connection, ending)


cdef int64_t lookups_of(Reactor *reactor, uint64_t id) noexcept nogil:
    """Any thread. The connection's lookups that reactors answered; -1 where this reactor does not have it."""
    cdef Connection *connection
    cdef int64_t answered = -1
    pthread_mutex_lock(&reactor.table_mutex)
    connection = find_connection(reactor, id)
    if connection != NULL:
        answered = load(&connection.answered)
    pthread_mutex_unlock(&reactor.table_mutex)
    return answered


cdef bint make_table_room(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Room for one more connection; False where there is no memory or the table is full."""
    cdef uint32_t room
    cdef Connection **connections
    cdef uint32_t *free_indexes
    if reactor.free_count or reactor.table_count < reactor.table_room:
        return True
    room = max(reactor.table_room * 2, <uint32_t>TABLE_MIN)
    if room > TABLE_MAX:
        return False
    pthread_mutex_lock(&reactor.table_mutex)
    connections = <Connection **>realloc(reactor.connections, room * sizeof(Connection *))
    if connections != NULL:
        reactor.connections = connections
    pthread_mutex_unlock(&reactor.table_mutex)
    free_indexes = <uint32_t *>realloc(reactor.free_indexes, room * sizeof(uint32_t))
    if free_indexes != NULL:
        reactor.free_indexes = free_indexes
    if connections == NULL or free_indexes == NULL:
        return False
    reactor.table_room = room
    return True


cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Give it an id and wait for its events; False where there is no room or no memory."""
    cdef epoll_event event
    assert_reactor(reactor, "insert_connection")
    if not make_table_room(reactor):
        return False
    reactor.generation += 1
    connection.generation = reactor.generation
    connection.armed = EPOLLONESHOT if reactor.shakes_hands else EPOLLIN
    pthread_mutex_lock(&reactor.table_mutex)
    if reactor.free_count:
        reactor.free_count -= 1
        connection.index = reactor.free_indexes[reactor.free_count]
    else:
        connection.index = reactor.table_count
        reactor.table_count += 1
    reactor.connections[connection.index] = connection
    pthread_mutex_unlock(&reactor.table_mutex)
    add(&reactor.carried, 1)
    event.events, event.data.u64 = connection.armed, id_of(reactor, connection)
    if epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, connection.fd, &event) == 0:
        return True
    remove_connection(reactor, connection)
    return False


cdef void add_connection(Reactor *reactor, int fd, uint8_t listener) noexcept nogil:
    """Reactor thread only. A new connection; the descriptor is closed where there is no room."""
    cdef Connection *connection = <Connection *>calloc(1, sizeof(Connection))
    if connection == NULL:
        close(fd)
        add(&reactor.shared.connections, -1)
        return
    connection.fd, connection.is_new, connection.ending, connection.host = fd, True, FAILED, HOSTS
    connection.active_ms, connection.listener = reactor.now_ms, listener
    connection.idle_ms_max = load(&reactor.shared.idle_ms_max)
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, FAILED)


cdef uint8_t *copy_certificate(const Connection *connection, size_t *size) noexcept nogil:
    """The owner of the connection only. The peer's certificate (DER), if its names are proven; else NULL."""
    cdef X509 *certificate
    cdef unsigned char *end
    cdef uint8_t *der = NULL
    cdef int length
    size[0] = 0
    if connection.tls == NULL or not connection.shows_names:
        return NULL
    certificate = openssl.SSL_get1_peer_certificate(connection.tls)
    if certificate == NULL:
        return NULL
    length = openssl.i2d_X509(certificate, NULL)
    if length > 0:
        der = <uint8_t *>malloc(<size_t>length)
    if der != NULL:
        end = der
        size[0] = <size_t>openssl.i2d_X509(certificate, &end)
    openssl.X509_free(certificate)
    openssl.ERR_clear_error()
    return der


cdef Message *message_of_opened(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil:
    """Reactor thread only. NULL where there is no memory."""
    cdef char room[TEXT_ROOM]
    cdef const char *shown = connection.address if connection.is_announced else socket_address
    cdef size_t length = strlen(shown), host_length, der_size, at
    cdef const char *host = find_host(socket_address, room, &host_length)
    cdef uint8_t *der = copy_certificate(connection, &der_size)
    cdef Message *message
    if not connection.is_announced:
        host_length = 0
    message = message_with(OPENED, id_of(reactor, connection), length + 1 + host_length + 1 + der_size)
    if message == NULL:
        free(der)
        return NULL
    memcpy(message.data, shown, length + 1)
    at = length + 1
    memcpy(message.data + at, host, host_length)
    at += host_length
    message.data[at] = 0
    if der != NULL:
        memcpy(message.data + at + 1, der, der_size)
    free(der)
    message.number = connection.host
    message.moment = (connection.tls != NULL) | connection.listener << OPENED_LISTENER_SHIFT
    return message


cdef void know_host(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil:
    """The owner of the connection only, which holds no bytes. Whose it is: the socket's host, and the announced one where
    only trusted proxies announce hosts.
    """
    cdef bint is_announced = connection.is_announced and reactor.shared.limits.trusts_announced
    connection.host_hash = host_hash(connection.address if is_announced else socket_address, &reactor.shared.hosts.key)
    if connection.host < HOSTS:
        release_host(reactor.shared.hosts, connection.host)
    connection.host = claim_host(reactor.shared.hosts, connection.host_hash)


cdef bint report_opened(Reactor *reactor, Connection *connection, const char *socket_address) noexcept nogil:
    """Reactor thread only. Tell control of a connection and its peer; False where there is no memory.

    The close notice is made here, so its allocation cannot fail later. Both are pushed by this thread to one queue, so
    control sees OPENED before any frame of the connection, and CLOSED after the last.
    """
    cdef bint keeps_address = reactor.shared.counts_clients
    cdef Message *message = message_of_opened(reactor, connection, socket_address)
    connection.close_notice = new_message(CLOSED, id_of(reactor, connection))
    if message == NULL or connection.close_notice == NULL:
        if message != NULL:
            free_message(message)
        free(connection.close_notice)
        connection.close_notice = NULL
        return False
    if connection.is_announced and not keeps_address and not reactor.shared.limits.trusts_announced:
        free(connection.address)
        connection.address = NULL
    if keeps_address and not connection.is_announced:
        connection.address = strdup(socket_address)
    if connection.address != NULL:
        connection.address_hash = hash_bytes(
            <const uint8_t *>connection.address, strlen(connection.address), &reactor.shared.routes.key
        )
    message.queued.host = connection.close_notice.queued.host = connection.host
    push(&reactor.shared.to_control, message)
    return True


cdef bint move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil:
    """Reactor thread only. Give the connection to another thread; False where there is no memory."""
    cdef Message *message = new_message(MOVE, id_of(reactor, connection))
    if message == NULL:
        return False
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL)
    remove_connection(reactor, connection)
    message.data = <uint8_t *>connection
    send_message(target, message)
    return True


cdef void refuse_connection(Reactor *reactor, Connection *connection, int ending, const char *reason) noexcept nogil:
    """Reactor thread only. Close a connection that control does not know, and tell it why. It is gone afterwards."""
    cdef char socket_address[ADDRESS_ROOM]
    cdef Message *message
    cdef const char *shown = connection.address
    cdef size_t length, reason_length = strlen(reason)
    cdef Peer ignored
    if shown == NULL:
        write_peer(connection.fd, socket_address, &ignored)
        shown = socket_address
    length = strlen(shown)
    message = message_with(REFUSED, 0, length + 1 + reason_length)
    if message != NULL:
        memcpy(message.data, shown, length + 1)
        memcpy(message.data + length + 1, reason, reason_length)
        message.number, message.queued.host = ending, connection.host
        add(&reactor.shared.gone, 1)
        if connection.host < HOSTS:  # for the message, until control takes note of it
            message.queued.host = claim_host(reactor.shared.hosts, connection.host_hash)
            add(&reactor.shared.hosts.hosts[message.queued.host].ended, 1)
        push(&reactor.shared.to_control, message)
    close_connection(reactor, connection, ending)


cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Look at the first byte of a new connection. True: it is plain, and still this reactor's.

    False: nothing came yet, or the handshake thread has it now, or it was closed.
    """
    cdef uint8_t first
    cdef char address[ADDRESS_ROOM]
    cdef ssize_t got = recv(connection.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT)
    if got < 0 and (errno == EAGAIN or errno == EINTR):
        return False
    if got == 1 and first == 0 and reactor.shared.limits.takes_plain:
        connection.is_new, connection.is_detecting = False, True
        write_peer(connection.fd, address, &connection.peer)
        know_host(reactor, connection, address)
        if report_opened(reactor, connection, address):
            return True
    elif got == 1 and move(reactor, connection, handshake_thread(reactor.shared)):
        return False
    close_connection(reactor, connection, PEER_CLOSED if got == 0 else FAILED)
    return False


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

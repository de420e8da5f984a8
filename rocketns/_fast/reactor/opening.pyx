"""How a connection begins: it is accepted, its first byte is looked at, a PROXY header and the handshake of TLS are
taken.

The first reactor accepts, and deals connections out among all. A reactor gives the handshake thread each connection
that does not begin with a frame. When its frames begin, the reactor whose turn it is gets it and keeps it: that may be
another one. So a lookup never waits for a handshake, which takes up to a millisecond.

The handshake thread is a reactor without frames: the same loop, connection table, inbox and totals. Its sockets are
armed for one event at a time, and who has something to do waits for the turn of its host.

OpenSSL's memory of all connections is bounded. Where a new one has no room, other handshakes are given up for it, and
then connections that are idle.
"""

from libc.errno cimport EAGAIN, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, strchr, strlen, strncmp, strrchr

from posix.unistd cimport close

from rocketns._fast.access.networks cimport flags_of, read_ip, read_socket_address
from rocketns._fast.access.policy cimport refresh_policy
from rocketns._fast.codec.proxy_header cimport (
    DETECTION_BYTES, UNFINISHED, WRONG, Header, ProxyHeader, is_proxied, read_header
)
from rocketns._fast.connections.connection cimport Ending, Stage, drop, keep, receive_some, send_output, send_wire
from rocketns._fast.connections.hosts cimport (
    CONNECTIONS, HOSTS, INPUT, OF_CONNECTIONS, TLS, Hosts, claim_host, release_host, spend_token
)
from rocketns._fast.connections.messages cimport (
    OPENED_LISTENER_SHIFT, Message, MessageKind, join_ring, new_message, next_turn, push
)
from rocketns._fast.reactor.connection_table cimport (
    Victim, charge_bytes, close_connection, find_victim, greedy_host, insert_connection, move, note_progress,
    release_connection, relieve
)
from rocketns._fast.reactor.reactor_state cimport (
    DESCRIPTORS_BESIDE_MAX, HANDSHAKE_BYTES, LISTENING, UNFINISHED_MESSAGE_BYTES, ContextState, Shared, Tls,
    assert_reactor, must_wait, send_message
)
from rocketns._fast.reactor.turns cimport admit, finish_turn, process_records, resume
from rocketns._fast.system.hashing cimport hash_bytes
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_MOD, EPOLLERR, EPOLLHUP, EPOLLIN, IPPROTO_TCP, MSG_DONTWAIT, MSG_PEEK, NI_NUMERICHOST, NI_NUMERICSERV,
    SO_RCVBUF, SO_SNDBUF, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET, TCP_NODELAY, accept4, asprintf, epoll_ctl,
    epoll_event, getnameinfo, monotonic_ns, recv, set_int, sockaddr, sockaddr_storage, socklen_t
)
from rocketns._fast.system.threads cimport add, load, pthread_mutex_lock, pthread_mutex_unlock
from rocketns._fast.tls.openssl cimport X509, Progress, new_session, openssl, shake_hands

cdef enum:
    ACCEPTED_AT_ONCE_MAX = 64  # in one round of the loop
    TURN_NS = 2_000_000  # of the handshake thread; then events and messages are looked at
    RECEIVED_AT_ONCE_MAX = 16 * 1024
    HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection
    HOST_ROOM = 80
    PORT_ROOM = 8


cdef void listen_again(Reactor *reactor, bint accepting) noexcept nogil:
    """Reactor thread only. Stop accepting while the process has no descriptors to spare, or go on."""
    cdef epoll_event event
    cdef int index
    event.events, event.data.u64 = EPOLLIN if accepting else 0, LISTENING
    for index in range(reactor.listeners):
        epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, reactor.listen_fds[index], &event)
    reactor.is_accepting = accepting


cdef bint may_stay(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Whether a new connection, which counts already, is carried. It is judged by its network
    here, so that of a balancer which sends PROXY headers must be in one.

    Where control has half of `connections_max` ends to take note of, a host to which some of them belong waits for it.
    """
    cdef Shared *shared = reactor.shared
    cdef Hosts *hosts = shared.hosts
    cdef uint16_t host = connection.message.host
    cdef int64_t most = shared.limits.connections_max
    if load(&shared.policy.closes_strangers) and not admit(&shared.policy, &reactor.policy_copy, connection):
        return False
    if (
        load(&shared.connections) > most
        or connection.fd >= most + DESCRIPTORS_BESIDE_MAX
        or (load(&shared.gone) > most // 2 and load(&hosts.hosts[host].ended))
    ):
        add(&shared.turned_away, 1)
        return False
    return not load(&hosts.cost_ns[CONNECTIONS]) or spend_token(hosts, host, OF_CONNECTIONS, reactor.now_ms)


cdef Reactor *next_carrier(Reactor *reactor) noexcept nogil:
    """Reactor thread only. The reactors get connections in turn."""
    reactor.next_reactor = (reactor.next_reactor + 1) % reactor.shared.carriers
    return reactor.shared.reactors[reactor.next_reactor]


cdef bint set_address(Connection *connection, const char *address, const char *behind) noexcept nogil:
    """The thread of the connection only. False where there is no memory."""
    cdef char *both
    if asprintf(&both, "%s%c%s%c", address, 0, behind, 0) < 0:
        return False
    free(connection.address)
    connection.address = both
    return True


cdef bint name_peer(Connection *connection, const sockaddr_storage *address) noexcept nogil:
    """Reactor thread only. Set the address to host:port; False where there is no memory.

    An IPv4 peer of a socket for both families is ::ffff:10.0.0.1 there, and is written as IPv4:
    `rocketns.addresses.unmapped`.
    """
    cdef char host[HOST_ROOM]
    cdef char port[PORT_ROOM]
    cdef char text[HOST_ROOM + PORT_ROOM]
    cdef const char *shown = host
    if getnameinfo(<const sockaddr *>address, sizeof(sockaddr_storage), host, HOST_ROOM, port, PORT_ROOM,
                   NI_NUMERICHOST | NI_NUMERICSERV) != 0:
        return False
    if strncmp(host, "::ffff:", 7) == 0 and strchr(host, b".") != NULL:
        shown = &host[7]
    snprintf(text, sizeof(text), "%s:%s", shown, <char *>port)
    return set_address(connection, text, b"")


cdef void begin(Reactor *reactor, int fd, const sockaddr_storage *address, uint8_t listener) noexcept nogil:
    """Reactor thread only. Make a connection of an accepted socket, for the reactor whose turn it is. One that may not
    stay is closed at once: if it were kept waiting, it would have a descriptor."""
    cdef Shared *shared = reactor.shared
    cdef Reactor *target = next_carrier(reactor)
    cdef Connection *connection = <Connection *>calloc(1, sizeof(Connection))
    if connection == NULL:
        close(fd)
        return
    connection.message.kind = MessageKind.MOVE
    connection.fd, connection.stage, connection.ending, connection.listener = fd, Stage.NEW, Ending.FAILED, listener
    connection.active_ms, connection.idle_ms_max = reactor.now_ms, load(&shared.idle_ms_max)
    add(&shared.connections, 1)
    read_socket_address(address, &connection.peer)
    connection.message.host = claim_host(shared.hosts, connection.peer.address)
    if not may_stay(reactor, connection) or not name_peer(connection, address):
        release_connection(shared, connection, Ending.FAILED)
        return
    reactor.has_accepted = True
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1)
    if shared.limits.send_buffer_bytes > 0:
        set_int(fd, SOL_SOCKET, SO_SNDBUF, shared.limits.send_buffer_bytes)
    if shared.limits.receive_buffer_bytes > 0:
        set_int(fd, SOL_SOCKET, SO_RCVBUF, shared.limits.receive_buffer_bytes)
    if target == reactor:
        adopt(reactor, connection)
    else:
        send_message(target, &connection.message)


cdef void accept_some(Reactor *reactor) noexcept nogil:
    """Reactor thread only. One of the listening sockets has connections."""
    cdef int listener, fd
    cdef sockaddr_storage address
    cdef socklen_t length
    assert_reactor(reactor, "accept_some")
    for listener in range(reactor.listeners):
        for _ in range(ACCEPTED_AT_ONCE_MAX):
            length = sizeof(address)
            fd = accept4(reactor.listen_fds[listener], <sockaddr *>&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)
            if fd < 0 and errno == EINTR:
                continue
            if fd < 0:
                if errno == EMFILE or errno == ENFILE or errno == ENOBUFS or errno == ENOMEM:
                    listen_again(reactor, False)
                break
            begin(reactor, fd, &address, <uint8_t>listener)


cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Look at the first byte of a new connection. True: it is plain, and still this reactor's.

    False: nothing came yet, or the handshake thread has it now, or it was closed.
    """
    cdef uint8_t first
    cdef ssize_t got = recv(connection.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT)
    if got < 0 and (errno == EAGAIN or errno == EINTR):
        return False
    if got == 1 and (first or not reactor.shared.limits.accepts_plain):
        move(reactor, connection, reactor.shared.reactors[reactor.shared.carriers])
        return False
    if got == 1:
        connection.stage = Stage.DETECTING
        if report_opened(reactor, connection):
            return True
    close_connection(reactor, connection, Ending.PEER_CLOSED if got == 0 else Ending.FAILED)
    return False


cdef bint report_opened(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Tell control of a connection and its peer; False where there is no memory.

    This thread pushes all of its messages to one queue, so control sees OPENED before any frame of the connection, and
    CLOSED after the last.
    """
    cdef size_t length = strlen(connection.address), size = length + strlen(connection.address + length + 1) + 2
    cdef X509 *certificate = NULL
    cdef int der_size = 0
    cdef unsigned char *der
    cdef Message *message
    if connection.tls != NULL and connection.shows_names:
        certificate = openssl.SSL_get1_peer_certificate(connection.tls)
    if certificate != NULL:
        der_size = max(openssl.i2d_X509(certificate, NULL), 0)
    message = new_message(MessageKind.OPENED, &connection.message, size + <size_t>der_size)
    if message != NULL:
        memcpy(message.data, connection.address, size)
        der = message.data + size
        if der_size:
            openssl.i2d_X509(certificate, &der)
        message.moment = (connection.tls != NULL) | connection.listener << OPENED_LISTENER_SHIFT
        if reactor.shared.limits.counts_clients:
            connection.address_hash = hash_bytes(
                <const uint8_t *>connection.address, length, &reactor.shared.routes.key
            )
        connection.message.kind = MessageKind.CLOSED
        push(&reactor.shared.to_control, message)
    if certificate != NULL:
        openssl.X509_free(certificate)
        openssl.ERR_clear_error()
    return message != NULL


cdef void adopt(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Carry a connection that is in no table: a new one, one for the handshake thread, or one
    whose frames begin, which is reported.

    The thread that had it touched it no more after its push, see connection.pxd. The input of the last kind is what
    came behind its first bytes: records if it has TLS.
    """
    # It may have been judged by a policy that this reactor has not seen.
    refresh_policy(&reactor.shared.policy, &reactor.policy_copy)
    if reactor.shakes_hands:
        connection.stage, connection.began_ms = Stage.UNDECIDED, reactor.now_ms
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, Ending.FAILED)
    elif reactor.shakes_hands:
        join_ring(&reactor.waiting, &connection.message)
    elif connection.stage == Stage.CARRIED:
        if not report_opened(reactor, connection):
            connection.is_failed = True
        elif connection.tls == NULL:
            resume(reactor, connection)
        elif connection.input.size:
            process_records(reactor, connection)
        finish_turn(reactor, connection)


cdef void fail(Connection *connection, int ending) noexcept nogil:
    """Handshake thread only. Close it at the end of this turn."""
    connection.is_failed, connection.ending = True, ending


cdef void return_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. Its frames begin."""
    connection.stage = Stage.CARRIED
    move(reactor, connection, next_carrier(reactor))


cdef size_t read_proxy(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Handshake thread only. The size of the PROXY header; 0 if there is none, or if it is not whole.

    From here on the connection is that of the announced host, if only trusted proxies announce hosts. Else any peer may
    announce any address: then it stays the socket's, and is in no network.
    """
    cdef Shared *shared = reactor.shared
    cdef ProxyHeader header
    cdef Header found
    cdef const char *colon
    if size < DETECTION_BYTES:
        return 0
    if not is_proxied(data):
        connection.stage = Stage.BEHIND_HEADER
        return 0
    if shared.proxies != NULL and flags_of(shared.proxies, connection.peer.address, False) == 0:
        fail(connection, Ending.UNTRUSTED_PROXY)
        return 0
    found = read_header(data, size, &header)
    if found == UNFINISHED:
        return 0
    if found == WRONG:
        fail(connection, Ending.WRONG_PROXY_HEADER)
        return 0
    connection.stage = Stage.BEHIND_HEADER
    if header.source[0]:
        if not set_address(connection, header.source, connection.address):
            fail(connection, Ending.FAILED)
            return 0
        connection.is_announced = True
        connection.peer.has_address = False
        connection.access_generation = 0  # it was judged by the socket's address
        if shared.limits.trusts_announced:
            colon = strrchr(connection.address, c":")
            read_ip(connection.address, <size_t>(colon - connection.address), &connection.peer)
            charge_bytes(reactor, INPUT, connection, 0)
            release_host(shared.hosts, connection.message.host)
            connection.message.host = claim_host(shared.hosts, connection.peer.address)
    return header.size


cdef bint reserve_handshake(Reactor *reactor, Connection *wanting, uint32_t size) noexcept nogil:
    """Handshake thread only. OpenSSL has so much memory for it from now on. False: there is no room, and it is closed.

    Over the limit other handshakes are given up, by the rules of connection_table.pyx, and then connections that are
    idle: so a flood of hellos from many hosts costs nobody else a connection. Where one host has too much, only its own
    go.
    """
    cdef Victim victim
    cdef uint32_t greedy
    cdef Connection *other
    cdef bint grows = size > wanting.charged[TLS]
    charge_bytes(reactor, TLS, wanting, size)
    if grows:
        note_progress(reactor, TLS, wanting)
    while find_victim(reactor.shared, TLS, reactor.number, &victim):
        other = <Connection *>reactor.large[TLS].lists[victim.party][victim.number].first.owner
        greedy = greedy_host(reactor.shared, TLS, victim.party)
        if other == wanting or (greedy < HOSTS and greedy != victim.number):
            break
        close_connection(reactor, other, Ending.STALLED_HANDSHAKE)
    return relieve(reactor, TLS, wanting) != NULL


cdef bint start_tls(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. Begin TLS with the context in use. False: the connection is gone.

    The stage is then SHAKING_HANDS, or WITHOUT_CONTEXT.
    """
    cdef Shared *shared = reactor.shared
    cdef ContextState state
    cdef Message *message = NULL
    if not reserve_handshake(reactor, connection, HANDSHAKE_BYTES):
        return False
    pthread_mutex_lock(&shared.tls.mutex)
    state = shared.tls.state
    if state == ContextState.IN_USE:
        connection.tls = new_session(shared.tls.context)
        connection.shows_names = shared.tls.verifies_peers
    elif state == ContextState.UNKNOWN:
        message = new_message(MessageKind.TLS_WANTED, NULL, 0)
        if message != NULL:
            shared.tls.state = ContextState.WANTED
    pthread_mutex_unlock(&shared.tls.mutex)
    if message != NULL:
        push(&shared.to_control, message)
    if connection.tls != NULL:
        connection.stage = Stage.SHAKING_HANDS
    elif state == ContextState.IN_USE or state == ContextState.NOT_USABLE:
        fail(connection, Ending.NO_CERTIFICATE if state == ContextState.NOT_USABLE else Ending.FAILED)
    else:
        connection.stage = Stage.WITHOUT_CONTEXT
        charge_bytes(reactor, TLS, connection, 0)
    return True


cdef bint go_on_with_tls(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Handshake thread only. The next step of a handshake, by records that came. Nothing of them is kept but those
    behind its end. False: the connection is gone, or a reactor has it."""
    cdef Tls *tls = &reactor.shared.tls
    cdef int64_t began_ns = monotonic_ns()
    cdef Progress progress
    cdef uint32_t memory
    cdef size_t left
    reactor.wire.incoming, reactor.wire.incoming_size = data, size
    progress = shake_hands(connection.tls, &reactor.wire)
    left, reactor.wire.incoming_size = reactor.wire.incoming_size, 0
    add(&tls.spent_ns, monotonic_ns() - began_ns)
    # Who has nothing to say to what came waits for the rest of a message.
    memory = HANDSHAKE_BYTES if reactor.wire.outgoing_size else UNFINISHED_MESSAGE_BYTES
    send_wire(connection, &reactor.wire)  # also an alert
    drop(&connection.input)
    if progress == Progress.HAS_FAILED:
        add(&tls.failed, 1)
        fail(connection, Ending.TLS_FAILED)
    elif progress == Progress.IS_DONE and not connection.is_failed:
        add(&tls.succeeded, 1)
        if keep(&connection.input, reactor.wire.incoming, left):
            return_connection(reactor, connection)
            return False
        fail(connection, Ending.FAILED)
    return connection.is_failed or reserve_handshake(reactor, connection, memory)


cdef bint go_on(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. A connection's turn: it has received something, or there is a context for it. False: the
    connection is gone, or a reactor has it."""
    cdef size_t have = connection.input.size, taken
    cdef uint8_t *data = reactor.scratch_in
    assert_reactor(reactor, "go_on")
    if connection.output.size:
        send_output(connection)
    if must_wait(reactor, connection):
        return True
    if have:
        memcpy(data, connection.input.data + connection.input.start, have)
    have += receive_some(connection, data + have, RECEIVED_AT_ONCE_MAX, reactor.now_ms)
    if connection.is_failed:
        return True
    if connection.stage == Stage.SHAKING_HANDS:
        return go_on_with_tls(reactor, connection, data, have)
    if connection.stage == Stage.UNDECIDED:
        taken = read_proxy(reactor, connection, data, have)
        data += taken
        have -= taken
    drop(&connection.input)
    if not keep(&connection.input, data, have):
        fail(connection, Ending.FAILED)
    if connection.is_failed or connection.stage != Stage.BEHIND_HEADER or have == 0:
        return True
    if data[0] == HANDSHAKE_MAGIC_CODE and reactor.shared.limits.accepts_tls:
        if not start_tls(reactor, connection):
            return False
        return connection.stage != Stage.SHAKING_HANDS or go_on_with_tls(reactor, connection, data, have)
    if data[0] != HANDSHAKE_MAGIC_CODE and reactor.shared.limits.accepts_plain:
        return_connection(reactor, connection)
        return False
    fail(connection, Ending.TLS_DISABLED if data[0] == HANDSHAKE_MAGIC_CODE else Ending.NOT_TLS)
    return True


cdef void note_context(Reactor *reactor) noexcept nogil:
    """Handshake thread only. Those that waited for the context begin now: so does their time."""
    cdef Connection *connection
    cdef int fd
    for fd in range(reactor.table_end):
        connection = reactor.connections[fd]
        if connection != NULL and connection.stage == Stage.WITHOUT_CONTEXT:
            connection.stage, connection.began_ms = Stage.BEHIND_HEADER, reactor.now_ms
            join_ring(&reactor.waiting, &connection.message)


cdef void on_handshake_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
    """Handshake thread only."""
    if connection.stage == Stage.WITHOUT_CONTEXT and events & (EPOLLERR | EPOLLHUP):
        close_connection(reactor, connection, Ending.PEER_CLOSED)
    else:
        join_ring(&reactor.waiting, &connection.message)


cdef void step_handshakes(Reactor *reactor) noexcept nogil:
    """Handshake thread only. The next steps, in the turns of hosts, for TURN_NS."""
    cdef Connection *connection
    cdef int64_t ends_ns
    if reactor.waiting.turns.first != NULL:
        ends_ns = monotonic_ns() + TURN_NS
        while reactor.waiting.turns.first != NULL and monotonic_ns() < ends_ns:
            connection = <Connection *>next_turn(&reactor.waiting, 1)
            if go_on(reactor, connection):
                finish_turn(reactor, connection)

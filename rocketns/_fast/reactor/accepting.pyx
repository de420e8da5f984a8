"""New connections: accepted by the first reactor, and dealt out among all reactors.

Those that begin with a PROXY header or with TLS come back from the handshake thread.

All functions are for the reactor's thread.
"""

from libc.errno cimport EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdint cimport uint8_t, uint64_t

from rocketns._fast.access.peers cimport Peer
from rocketns._fast.connections.hosts cimport (
    ADDRESS_ROOM, CONNECTIONS, Hosts, ended_of, host_hash, may_connect, write_peer
)
from rocketns._fast.access.policy cimport know_policy
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.messages cimport ADD, FAILED, Message, new_message
from rocketns._fast.connections.admission cimport turn_stranger_away
from rocketns._fast.reactor.connection_table cimport (
    add_connection, insert_connection, release_connection, report_opened
)
from rocketns._fast.reactor.reactor_state cimport Limits, Shared, assert_reactor, send_message
from rocketns._fast.reactor.turns cimport finish_turn, resume, take_records
from rocketns._fast.system.atomics cimport add, load
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_MOD, EPOLLIN, IPPROTO_TCP, SO_RCVBUF, SO_SNDBUF, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET, TCP_NODELAY,
    accept4, close, epoll_ctl, epoll_event, set_int, sockaddr, sockaddr_storage, socklen_t
)

cdef enum:
    ACCEPTED_AT_ONCE_MAX = 64  # in one round of the loop


cdef void deal_out(Reactor *reactor, int fd, uint8_t listener) noexcept nogil:
    """Reactor thread only. The reactors get new connections in turn."""
    cdef Shared *shared = reactor.shared
    cdef Message *message
    cdef int turn = (reactor.next_reactor + 1) % shared.carriers
    reactor.next_reactor = turn
    if shared.reactors[turn] == reactor:
        add_connection(reactor, fd, listener)
        return
    message = new_message(ADD, 0)
    if message == NULL:
        close(fd)
        add(&shared.connections, -1)
        return
    message.number, message.moment = fd, listener
    send_message(shared.reactors[turn], message)


cdef void listen_again(Reactor *reactor, bint accepting) noexcept nogil:
    """Reactor thread only. Stop accepting while the process has no descriptors to spare, or go on."""
    cdef epoll_event event
    cdef int place
    event.events, event.data.u64 = EPOLLIN if accepting else 0, LISTENING
    for place in range(reactor.listeners):
        epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, reactor.listen_fds[place], &event)
    reactor.is_accepting = accepting


cdef bint may_stay(Reactor *reactor, int fd) noexcept nogil:
    """Reactor thread only. Whether the peer's host may open a connection now.

    Where control has half of `connections_max` ends to take note of, a host to which some of them belong waits for it.
    """
    cdef char address[ADDRESS_ROOM]
    cdef Peer peer
    cdef Hosts *table = reactor.shared.hosts
    cdef uint64_t hash
    cdef bint is_behind = load(&reactor.shared.gone) > reactor.shared.limits.connections_max // 2
    if not load(&table.cost_ns[CONNECTIONS]) and not is_behind:
        return True
    write_peer(fd, address, &peer)
    hash = host_hash(address, &table.key)
    if is_behind and ended_of(table, hash):
        add(&reactor.shared.turned_away, 1)
        return False
    return not load(&table.cost_ns[CONNECTIONS]) or may_connect(table, hash, reactor.now_ms, address)


cdef void accept_some(Reactor *reactor) noexcept nogil:
    """Reactor thread only. One of the listening sockets has connections."""
    cdef int listener
    for listener in range(reactor.listeners):
        accept_from(reactor, <uint8_t>listener)


cdef void accept_from(Reactor *reactor, uint8_t listener) noexcept nogil:
    """Reactor thread only.

    A connection beyond the rate of its host is closed at once: one that were kept waiting would have a descriptor. A
    connection is counted before the count is compared, so reactors that accept at the same time keep the limit.
    """
    cdef Limits *limits = &reactor.shared.limits
    cdef sockaddr_storage address
    cdef socklen_t length
    cdef int fd
    assert_reactor(reactor, "accept_some")
    for _ in range(ACCEPTED_AT_ONCE_MAX):
        length = sizeof(sockaddr_storage)
        fd = accept4(reactor.listen_fds[listener], <sockaddr *>&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)
        if fd < 0:
            if errno == EMFILE or errno == ENFILE or errno == ENOBUFS or errno == ENOMEM:
                listen_again(reactor, False)
            if errno != EINTR:
                return
            continue
        if load(&reactor.shared.policy.closes_strangers) and turn_stranger_away(&reactor.shared.policy, fd, &address):
            continue
        if not may_stay(reactor, fd):
            close(fd)
            continue
        if add(&reactor.shared.connections, 1) > limits.connections_max:
            add(&reactor.shared.connections, -1)
            add(&reactor.shared.turned_away, 1)
            close(fd)
            continue
        set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1)
        if limits.send_buffer_bytes > 0:
            set_int(fd, SOL_SOCKET, SO_SNDBUF, limits.send_buffer_bytes)
        if limits.receive_buffer_bytes > 0:
            set_int(fd, SOL_SOCKET, SO_RCVBUF, limits.receive_buffer_bytes)
        reactor.has_accepted = True
        deal_out(reactor, fd, listener)


cdef void begin(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Control hears of a connection whose first bytes the handshake thread has read.

    Its input is what came behind: records if it has TLS.
    """
    cdef char socket_address[ADDRESS_ROOM]
    cdef Peer ignored
    write_peer(connection.fd, socket_address, &ignored)
    if not report_opened(reactor, connection, socket_address):
        connection.is_failed = True
    elif connection.tls == NULL:
        resume(reactor, connection)
    elif connection.input_size:
        take_records(reactor, connection)
    finish_turn(reactor, connection)


cdef void take_over(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. Carry on a connection of the handshake thread.

    That thread touched it no more after its push, see connection.pxd.
    """
    cdef Connection *connection = <Connection *>message.data
    message.data = NULL
    # The connection may have been judged by a policy that this reactor has not seen.
    know_policy(&reactor.shared.policy, &reactor.known_policy)
    if insert_connection(reactor, connection):
        begin(reactor, connection)
    else:
        release_connection(reactor.shared, connection, FAILED)

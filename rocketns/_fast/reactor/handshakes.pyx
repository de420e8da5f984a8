"""The handshake thread: what comes before the frames of a connection, a PROXY header and the handshake of TLS.

A reactor gives it each connection that does not begin with a frame. When its frames begin, the reactor whose turn it is
gets it and keeps it: that may be another one. So a lookup never waits for a handshake, which takes up to a millisecond.
The thread is a reactor without frames: the same loop, connection table, inbox and totals. Its sockets are armed for one
event at a time, and who has something to do waits for the turn of its host.

OpenSSL's memory of all connections is bounded. Where a new one has no room, other handshakes are given up for it, and
then connections that are idle.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, strdup

from rocketns._fast.access.networks cimport flags_of, read_text
from rocketns._fast.codec.proxy_header cimport (
    DETECTION_BYTES, UNFINISHED, WRONG, Header, ProxyHeader, is_proxied, read_header
)
from rocketns._fast.connections.connection cimport (
    BEHIND_HEADER, CARRIED, FAILED, NO_CERTIFICATE, NOT_TLS, PEER_CLOSED, SHAKING_HANDS, STALLED_HANDSHAKE,
    TLS_DISABLED, TLS_FAILED, TOO_MUCH_UNSENT, UNDECIDED, UNTRUSTED_PROXY, WITHOUT_CONTEXT, WRONG_PROXY_HEADER,
    count_held, drop_input, keep_input, note_progress, send_output, unsent
)
from rocketns._fast.connections.hosts cimport ADDRESS_ROOM, HOSTS, INPUT, OUTPUT, TLS, join_ring, take_turn, write_peer
from rocketns._fast.connections.messages cimport TLS_WANTED, Message, new_message, push
from rocketns._fast.reactor.answers cimport send_wire
from rocketns._fast.reactor.connection_table cimport (
    close_connection, insert_connection, know_host, move, refuse_connection, release_connection
)
from rocketns._fast.reactor.evicting cimport Victim, excess, find_victim, greedy_host, relieve
from rocketns._fast.reactor.reactor_state cimport (
    HANDSHAKE_BYTES, IN_USE, NOT_USABLE, UNFINISHED_MESSAGE_BYTES, UNKNOWN, WANTED, ContextState, Shared, Tls,
    assert_reactor, id_of
)
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_MOD, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLONESHOT, EPOLLOUT, MSG_DONTWAIT, epoll_ctl, epoll_event,
    monotonic_ns, recv
)
from rocketns._fast.system.threads cimport add, pthread_mutex_lock, pthread_mutex_unlock
from rocketns._fast.tls.openssl cimport IS_DONE, WANTS_MORE, Progress, new_session, shake_hands, take_reason

cdef enum:
    TURN_NS = 2_000_000  # then events and messages are looked at
    RECEIVED_AT_ONCE_MAX = 16 * 1024
    UNSENT_MAX = 64 * 1024  # of a peer that goes on with its handshake and reads no answer
    HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection


cdef void arrive(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. A connection comes from a reactor, which saw its first byte."""
    cdef char address[ADDRESS_ROOM]
    connection.is_new, connection.stage, connection.began_ms = False, UNDECIDED, reactor.now_ms
    write_peer(connection.fd, address, &connection.peer)
    know_host(reactor, connection, address)
    if insert_connection(reactor, connection):
        join_ring(reactor.waiting, &connection.queued, connection.host)
    else:
        release_connection(reactor.shared, connection, FAILED)


cdef void await_events(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. At the end of a turn. The connection may be gone afterwards."""
    cdef Shared *shared = reactor.shared
    cdef epoll_event event
    if unsent(connection) > UNSENT_MAX:
        refuse_connection(reactor, connection, TOO_MUCH_UNSENT, b"")
        return
    count_held(&reactor.holders[INPUT], INPUT, connection, connection.input_start + connection.input_size, reactor.now_ms)
    count_held(&reactor.holders[OUTPUT], OUTPUT, connection, connection.output_end, reactor.now_ms)
    event.events, event.data.u64 = EPOLLONESHOT, id_of(reactor, connection)
    if connection.stage != WITHOUT_CONTEXT:
        event.events |= EPOLLIN
    if unsent(connection):
        event.events |= EPOLLOUT
    connection.armed = event.events
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, connection.fd, &event)
    if excess(shared, INPUT) > 0:
        relieve(reactor, INPUT, connection)


cdef void give_back(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. Its frames begin: the reactors get such connections in turn."""
    cdef Shared *shared = reactor.shared
    cdef int target = (reactor.next_reactor + 1) % shared.carriers
    reactor.next_reactor = target
    connection.stage = CARRIED
    if not move(reactor, connection, shared.reactors[target]):
        close_connection(reactor, connection, FAILED)


cdef bint announce(Reactor *reactor, Connection *connection, const char *source) noexcept nogil:
    """Handshake thread only. A PROXY header announced the peer's address; False where there is no memory.

    Any peer may announce any address, unless only certain ones may: then it is in no network.
    """
    cdef char address[ADDRESS_ROOM]
    if source[0] == 0:
        return True
    connection.address = strdup(source)
    if connection.address == NULL:
        return False
    write_peer(connection.fd, address, &connection.peer)
    connection.is_announced, connection.peer.is_known = True, False
    if reactor.shared.limits.trusts_announced:
        read_text(source, &connection.peer)
    count_held(&reactor.holders[INPUT], INPUT, connection, 0, reactor.now_ms)
    know_host(reactor, connection, address)
    return True


cdef inline bint is_trusted(const Shared *shared, const Connection *connection) noexcept nogil:
    """Whether the socket's address may announce another."""
    if shared.proxies == NULL:
        return True
    return connection.peer.is_known and flags_of(shared.proxies, connection.peer.address) != 0


cdef bint take_header(Reactor *reactor, Connection *connection, const uint8_t *data, size_t *size) noexcept nogil:
    """Handshake thread only. Take a PROXY header off, if there is one. False: the connection is gone.

    ``size`` becomes the header's; 0 if there is none, or if it is not whole.
    """
    cdef ProxyHeader header
    cdef Header found
    cdef size_t have = size[0]
    size[0] = 0
    if have < DETECTION_BYTES:
        return True
    if not is_proxied(data):
        connection.stage = BEHIND_HEADER
        return True
    if not is_trusted(reactor.shared, connection):
        refuse_connection(reactor, connection, UNTRUSTED_PROXY, b"")
        return False
    found = read_header(data, have, &header)
    if found == UNFINISHED:
        return True
    if found == WRONG or not announce(reactor, connection, header.source):
        refuse_connection(reactor, connection, WRONG_PROXY_HEADER if found == WRONG else FAILED, b"")
        return False
    size[0], connection.stage = header.size, BEHIND_HEADER
    return True


cdef bint hold_handshake(Reactor *reactor, Connection *wanting, uint32_t size) noexcept nogil:
    """Handshake thread only. OpenSSL has so much memory for it from now on. False: there is no room, and it is closed.

    Over the limit other handshakes are given up, by the rules of evicting.pyx, and then connections that are idle: so a
    flood of hellos from many hosts costs nobody else a connection. Where one host has too much, only its own go.
    """
    cdef Victim victim
    cdef uint32_t greedy
    cdef Connection *other
    cdef bint grows = size > wanting.held[TLS]
    count_held(&reactor.holders[TLS], TLS, wanting, size, reactor.now_ms)
    if grows:
        note_progress(&reactor.holders[TLS], TLS, wanting, reactor.now_ms)
    while find_victim(reactor.shared, TLS, reactor.number, &victim):
        other = reactor.holders[TLS].lists[victim.known][victim.number].first
        greedy = greedy_host(reactor.shared, TLS, victim.known)
        if other == wanting or (greedy < HOSTS and greedy != victim.number):
            break
        refuse_connection(reactor, other, STALLED_HANDSHAKE, b"")
    return relieve(reactor, TLS, wanting) != NULL


cdef ContextState start_tls(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. Begin TLS with the context in use: `connection.tls` is then set, or memory is short."""
    cdef Shared *shared = reactor.shared
    cdef ContextState state
    cdef Message *message = NULL
    pthread_mutex_lock(&shared.tls.mutex)
    state = shared.tls.state
    if state == IN_USE:
        connection.tls = new_session(shared.tls.context)
        connection.shows_names = shared.tls.verifies_peers
    elif state == UNKNOWN:
        message = new_message(TLS_WANTED, 0)
        if message != NULL:
            message.queued.host = HOSTS
            shared.tls.state = WANTED
    pthread_mutex_unlock(&shared.tls.mutex)
    if message != NULL:
        push(&shared.to_control, message)
    return state


cdef bint choose(Reactor *reactor, Connection *connection, uint8_t first) noexcept nogil:
    """Handshake thread only. The first byte decides. False: the connection is gone, or another thread has it.

    The stage is then SHAKING_HANDS or WITHOUT_CONTEXT. The input is kept.
    """
    cdef Shared *shared = reactor.shared
    cdef ContextState state
    if first != HANDSHAKE_MAGIC_CODE:
        if shared.limits.takes_plain:
            give_back(reactor, connection)
        else:
            refuse_connection(reactor, connection, NOT_TLS, b"")
        return False
    if not shared.limits.takes_tls:
        refuse_connection(reactor, connection, TLS_DISABLED, b"")
        return False
    if not hold_handshake(reactor, connection, HANDSHAKE_BYTES):
        return False
    state = start_tls(reactor, connection)
    if state == NOT_USABLE or (state == IN_USE and connection.tls == NULL):
        refuse_connection(reactor, connection, NO_CERTIFICATE if state == NOT_USABLE else FAILED, b"")
        return False
    connection.stage = SHAKING_HANDS if connection.tls != NULL else WITHOUT_CONTEXT
    if connection.tls == NULL:
        count_held(&reactor.holders[TLS], TLS, connection, 0, reactor.now_ms)
    return True


cdef void go_on_with_tls(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Handshake thread only. The next step of a handshake, by records that came. Nothing of them is kept but those
    behind its end. The connection may be gone afterwards."""
    cdef Tls *tls = &reactor.shared.tls
    cdef int64_t began_ns = monotonic_ns()
    cdef Progress progress
    cdef uint32_t memory
    cdef const char *reason = NULL
    reactor.wire.incoming, reactor.wire.incoming_size = data, size
    progress = shake_hands(connection.tls, &reactor.wire)
    if progress != IS_DONE and progress != WANTS_MORE:
        reason = take_reason()
    add(&tls.spent_ns, monotonic_ns() - began_ns)
    # Who has nothing to say to what came waits for the rest of a message.
    memory = HANDSHAKE_BYTES if reactor.wire.outgoing_size else UNFINISHED_MESSAGE_BYTES
    send_wire(reactor, connection)  # also an alert
    drop_input(connection)
    if progress != WANTS_MORE and progress != IS_DONE:
        add(&tls.failed, 1)
        refuse_connection(reactor, connection, TLS_FAILED, reason)
    elif connection.is_failed:
        close_connection(reactor, connection, FAILED)
    elif progress == WANTS_MORE:
        if hold_handshake(reactor, connection, memory):
            await_events(reactor, connection)
    else:
        add(&tls.succeeded, 1)
        if keep_input(connection, reactor.wire.incoming, reactor.wire.incoming_size):
            give_back(reactor, connection)
        else:
            close_connection(reactor, connection, FAILED)
    reactor.wire.incoming_size = 0


cdef void go_on(Reactor *reactor, Connection *connection) noexcept nogil:
    """Handshake thread only. A connection's turn: it has received something, or there is a context for it."""
    cdef size_t have = connection.input_size, taken
    cdef uint8_t *data = reactor.scratch_in
    cdef ssize_t got
    assert_reactor(reactor, "go_on")
    if unsent(connection) and not send_output(connection):
        close_connection(reactor, connection, FAILED)
        return
    if have:
        memcpy(data, connection.input + connection.input_start, have)
    got = recv(connection.fd, data + have, RECEIVED_AT_ONCE_MAX, MSG_DONTWAIT)
    if got == 0 or (got < 0 and errno != EAGAIN and errno != EINTR):
        close_connection(reactor, connection, PEER_CLOSED if got == 0 else FAILED)
        return
    if got > 0:
        connection.active_ms = reactor.now_ms
        connection.moved[INPUT] += <uint32_t>got
        have += <size_t>got
    if connection.stage == SHAKING_HANDS:
        go_on_with_tls(reactor, connection, data, have)
        return
    if connection.stage == UNDECIDED:
        taken = have
        if not take_header(reactor, connection, data, &taken):
            return
        data += taken
        have -= taken
    drop_input(connection)
    if not keep_input(connection, data, have):
        close_connection(reactor, connection, FAILED)
        return
    if connection.stage == BEHIND_HEADER and have:
        if not choose(reactor, connection, data[0]):
            return
        if connection.stage == SHAKING_HANDS:
            go_on_with_tls(reactor, connection, data, have)
            return
    await_events(reactor, connection)


cdef void note_context(Reactor *reactor) noexcept nogil:
    """Handshake thread only. Those that waited for the context begin now: so does their time."""
    cdef Connection *connection
    cdef uint32_t index
    for index in range(reactor.table_count):
        connection = reactor.connections[index]
        if connection != NULL and connection.stage == WITHOUT_CONTEXT:
            connection.stage, connection.began_ms = BEHIND_HEADER, reactor.now_ms
            join_ring(reactor.waiting, &connection.queued, connection.host)


cdef void on_handshake_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
    """Handshake thread only."""
    if connection.stage == WITHOUT_CONTEXT and events & (EPOLLERR | EPOLLHUP):
        close_connection(reactor, connection, PEER_CLOSED)
    else:
        join_ring(reactor.waiting, &connection.queued, connection.host)


cdef void take_steps(Reactor *reactor) noexcept nogil:
    """Handshake thread only. The next steps, in the turns of hosts, for TURN_NS."""
    cdef int64_t ends_ns
    if reactor.waiting.waiting:
        ends_ns = monotonic_ns() + TURN_NS
        while reactor.waiting.waiting and monotonic_ns() < ends_ns:
            go_on(reactor, <Connection *>take_turn(reactor.waiting, 1))

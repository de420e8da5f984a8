"""The loop of a reactor: level-triggered epoll over the listening sockets, the connections and the inbox.

New connections are accepted by the first reactor, and dealt out among all. Those that begin with a PROXY header or with
TLS come back from the handshake thread.

How long lookups take is measured in a sample of the loop's rounds, about one in SAMPLED. The distance varies, so that
samples do not fall into step with the requests of clients. In a sampled round the clock is read when `epoll_wait`
returns, and after each connection's turn. So a lookup's time begins when its socket was seen to be ready, ends when its
answer was given to the socket, and contains the turns of the connections before it. Other rounds read no clock.

All functions are for the reactor's thread.
"""

from libc.errno cimport EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

from posix.unistd cimport close

from rocketns._fast.access.networks cimport Peer
from rocketns._fast.access.policy cimport know_policy
from rocketns._fast.connections.connection cimport ENDED, FAILED, Connection, note_known, send_output, unsent
from rocketns._fast.connections.hosts cimport (
    ADDRESS_ROOM, CONNECTIONS, KINDS, TLS, HostRing, Hosts, ended_of, host_hash, leave_ring, may_connect, write_peer
)
from rocketns._fast.connections.messages cimport (
    ABORT, ADD, APPLIED, CLOSE_IDLE, CONTEXT_CHANGED, END, MOVE, REPLY, REPLY_AWAITS_TAKEN, REPLY_GENERATION_SHIFT,
    REPLY_TO_KNOWN, RESUME, SHED, STOP, Message, following, free_message, new_message, take_all
)
from rocketns._fast.reactor.answers cimport deferred_wait_ms, end_round, free_deferred, send_answers
from rocketns._fast.reactor.connection_table cimport (
    add_connection, close_connection, detect_plain, insert_connection, release_connection, report_opened,
    turn_stranger_away
)
from rocketns._fast.reactor.evicting cimport close_idle, close_some_idle, relieve
from rocketns._fast.reactor.handshakes cimport arrive, note_context, on_handshake_event, take_steps
from rocketns._fast.reactor.reactor_state cimport (
    LATENCY_BUCKETS, REACTOR_SHIFT, SCRATCH_BYTES, SEALED_BYTES, Limits, assert_reactor, find_connection, must_wait,
    send_message
)
from rocketns._fast.reactor.turns cimport (
    answer_deferred, end_connection, finish_turn, receive, resume, resume_stalled, take_records
)
from rocketns._fast.routes.asked_topics cimport free_counts
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.routes.slots cimport LISTENERS_MAX
from rocketns._fast.system.sockets cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT,
    IPPROTO_TCP, SO_RCVBUF, SO_SNDBUF, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET, TCP_NODELAY, accept4,
    epoll_create1, epoll_ctl, epoll_event, epoll_wait, eventfd, monotonic_ms, monotonic_ns, set_int, sockaddr,
    sockaddr_storage, socklen_t
)
from rocketns._fast.system.threads cimport (
    add, assert_equal, disown, load, own, pthread_mutex_destroy, pthread_mutex_init, store
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


cdef void take_over(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. Carry on a connection whose first bytes the handshake thread has read, and report it.

    That thread touched it no more after its push, see connection.pxd. Its input is what came behind the first bytes:
    records if it has TLS.
    """
    cdef char socket_address[ADDRESS_ROOM]
    cdef Peer ignored
    cdef Connection *connection = <Connection *>message.data
    message.data = NULL
    # The connection may have been judged by a policy that this reactor has not seen.
    know_policy(&reactor.shared.policy, &reactor.known_policy)
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, FAILED)
        return
    write_peer(connection.fd, socket_address, &ignored)
    if not report_opened(reactor, connection, socket_address):
        connection.is_failed = True
    elif connection.tls == NULL:
        resume(reactor, connection)
    elif connection.input_size:
        take_records(reactor, connection)
    finish_turn(reactor, connection)


cdef enum:
    SAMPLED = 64  # a power of two


cdef inline int64_t begin_sample(Reactor *reactor) noexcept nogil:
    """Reactor thread only. The present time in nanoseconds if this round is a sample, and otherwise 0."""
    reactor.rounds_to_sample -= 1
    if reactor.rounds_to_sample > 0:
        return 0
    if not reactor.shared.samples:
        reactor.rounds_to_sample = SAMPLED
        return 0
    reactor.sample_state = reactor.sample_state * 1664525 + 1013904223  # Numerical Recipes; the high bits vary well
    reactor.rounds_to_sample = SAMPLED // 2 + <int>((reactor.sample_state >> 16) % SAMPLED)
    return monotonic_ns()


cdef inline void end_sample(Reactor *reactor, int64_t began_ns, int64_t answered, int64_t absent) noexcept nogil:
    """Reactor thread only. So many lookups, with a route and without, were answered now."""
    cdef int64_t took_ns = monotonic_ns() - began_ns
    cdef int bucket = 0
    while bucket < LATENCY_BUCKETS - 1 and took_ns > reactor.shared.latency_bounds_ns[bucket]:
        bucket += 1
    if answered:
        add(&reactor.latency[0][bucket], answered)
        add(&reactor.latency_ns[0], answered * took_ns)
    if absent:
        add(&reactor.latency[1][bucket], absent)
        add(&reactor.latency_ns[1], absent * took_ns)


cdef enum:
    EVENTS_AT_ONCE = 256
    # In one round of the loop, so that no kind of work waits for all of another kind.
    HANDLED_AT_ONCE_MAX = 256
    HANDLED_BYTES_AT_ONCE_MAX = 1024 * 1024
    NO_MEMORY_WAIT_MS = 100

# An id has room for the number of each reactor, and the ids of the loop's own events are no reactor's.
assert_equal(REACTOR_SHIFT + 8, 64)
assert_equal(READERS_MAX < 255, True)

cdef extern from "<stdint.h>" nogil:
    const uint64_t WOKEN "(UINT64_MAX - 1)"  # the epoll id of the inbox's eventfd; no connection has it


cdef void on_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
    """Reactor thread only. The connection may be gone afterwards."""
    if connection.is_new and events & EPOLLIN and not detect_plain(reactor, connection):
        return
    if events & EPOLLOUT and unsent(connection):
        if send_output(connection):
            connection.active_ms = reactor.now_ms
        else:
            connection.is_failed = True
    if events & EPOLLOUT:
        resume(reactor, connection)
    if events & EPOLLIN and not must_wait(reactor, connection) and not connection.has_frames:
        receive(reactor, connection)
    elif events & (EPOLLERR | EPOLLHUP) and not connection.armed & EPOLLIN:
        connection.is_failed = True
    finish_turn(reactor, connection)


cdef void measured_event(Reactor *reactor, Connection *connection, uint32_t events, int64_t began_ns) noexcept nogil:
    """Reactor thread only. `on_event` in a round that began at that time and is a sample."""
    cdef int64_t answered = load(&reactor.answered), absent = load(&reactor.absent)
    on_event(reactor, connection, events)
    answered, absent = load(&reactor.answered) - answered, load(&reactor.absent) - absent
    if answered or absent:
        end_sample(reactor, began_ns, answered, absent)


cdef void reply(Reactor *reactor, Connection *connection, Message *message) noexcept nogil:
    """Reactor thread only. Send control's answers; so many requests are no longer in flight."""
    connection.in_flight -= min(connection.in_flight, <uint32_t>message.number)
    if message.moment & REPLY_AWAITS_TAKEN:
        connection.is_awaited = True
    # Its peer may look up by its certificate, as control decided by the policy of this generation.
    if connection.access_generation == <uint32_t>(message.moment >> REPLY_GENERATION_SHIFT):
        connection.is_guarded = False
    note_known(reactor.holders, connection, message.moment & REPLY_TO_KNOWN != 0, reactor.now_ms)
    if message.size:
        connection.active_ms = reactor.now_ms
        if connection.tls == NULL and connection.output == NULL:  # a large answer is not copied: it becomes the output
            connection.output, connection.output_room, connection.output_end = message.data, message.size, message.size
            message.data = NULL
            connection.is_failed = not send_output(connection)
        else:
            send_answers(reactor, connection, message.data, message.size)
    if connection.in_flight == 0:
        leave_ring(reactor.waiting, &connection.queued)  # it has no frame at control now, so it may hand one over
    resume(reactor, connection)
    finish_turn(reactor, connection)


cdef void handle_message(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. The message stays the caller's."""
    cdef Connection *connection
    if message.kind == ADD:
        add_connection(reactor, message.number, <uint8_t>message.moment)
    elif message.kind == MOVE and reactor.shakes_hands:
        arrive(reactor, <Connection *>message.data)
        message.data = NULL
    elif message.kind == MOVE:
        take_over(reactor, message)
    elif message.kind == CONTEXT_CHANGED:
        note_context(reactor)
    elif message.kind == CLOSE_IDLE:
        close_idle(reactor, message.moment)
        if not reactor.is_accepting and reactor.listeners:
            listen_again(reactor, True)
    elif message.kind == RESUME:
        reactor.may_resume = not reactor.shakes_hands
    elif message.kind == SHED:
        store(&reactor.shared.asked[message.number], 0)  # before the look, see `evicting.ask_to_close`
        relieve(reactor, message.number, NULL)
    elif message.kind == STOP:
        reactor.is_stopping = True
    elif message.kind == APPLIED:
        pass  # it wakes the loop, which answers what is due
    else:
        if message.kind == REPLY:
            add(&reactor.shared.replied_bytes, -<int64_t>message.size)
        connection = find_connection(reactor, message.connection)
        if connection == NULL:
            return
        if message.kind == REPLY:
            reply(reactor, connection, message)
        elif message.kind == END:
            end_connection(reactor, connection, ENDED)
            finish_turn(reactor, connection)
        elif message.kind == ABORT:
            close_connection(reactor, connection, ENDED)


cdef void handle_messages(Reactor *reactor) noexcept nogil:
    """Reactor thread only. A bounded number of messages; the rest waits for the next round.

    A message counts as handled after all messages that it caused were counted as sent: see `Reactors.has_handled_all`.
    """
    cdef Message *message
    cdef size_t handled_bytes = 0
    cdef int handled = 0
    if reactor.pending == NULL:
        reactor.pending = take_all(&reactor.inbox)
    while reactor.pending != NULL and handled < HANDLED_AT_ONCE_MAX and handled_bytes < HANDLED_BYTES_AT_ONCE_MAX:
        message = reactor.pending
        reactor.pending = following(message)
        handled += 1
        handled_bytes += message.size
        handle_message(reactor, message)
        free_message(message)
        add(&reactor.messages_handled, 1)


cdef bint has_work(const Reactor *reactor) noexcept nogil:
    """Reactor thread only. Whether the last round left something to do."""
    return (
        reactor.pending != NULL
        or reactor.may_resume
        or reactor.idle_left != 0
        or (reactor.shakes_hands and reactor.waiting.waiting != 0)
    )


cdef int wait_ms(const Reactor *reactor) noexcept nogil:
    """Reactor thread only. How long epoll may block; -1 is for ever."""
    cdef int deferred_ms = deferred_wait_ms(reactor)
    if has_work(reactor):
        return 0
    if reactor.is_accepting or 0 <= deferred_ms < NO_MEMORY_WAIT_MS:
        return deferred_ms
    return NO_MEMORY_WAIT_MS


cdef void run_reactor(Reactor *reactor) noexcept nogil:
    """The thread of a reactor, or that of handshakes: runs until STOP, then closes every connection."""
    cdef epoll_event events[EVENTS_AT_ONCE]
    cdef Connection *connection
    cdef uint32_t index
    cdef int count, each
    cdef bint woken = False, was_left
    cdef int64_t sampled_ns
    own(&reactor.thread)
    while not reactor.is_stopping:
        was_left = has_work(reactor)
        count = epoll_wait(reactor.epoll_fd, events, EVENTS_AT_ONCE, wait_ms(reactor))
        sampled_ns = begin_sample(reactor)
        reactor.now_ms = load(&reactor.shared.clock_ms)
        if reactor.now_ms < 0:
            reactor.now_ms = monotonic_ms()
        if not reactor.is_accepting and count == 0 and not was_left:
            listen_again(reactor, True)
        for each in range(count):
            if events[each].data.u64 == WOKEN:
                woken = True
            elif events[each].data.u64 == LISTENING:
                accept_some(reactor)
            else:
                connection = find_connection(reactor, events[each].data.u64)
                if connection != NULL and reactor.shakes_hands:
                    on_handshake_event(reactor, connection, events[each].events)
                elif connection != NULL and sampled_ns:
                    measured_event(reactor, connection, events[each].events, sampled_ns)
                elif connection != NULL:
                    on_event(reactor, connection, events[each].events)
        if woken or reactor.pending != NULL:
            handle_messages(reactor)
            woken = False
        if reactor.may_resume:
            resume_stalled(reactor)
        if reactor.shakes_hands:
            take_steps(reactor)
        if reactor.idle_left:
            close_some_idle(reactor)
        end_round(reactor)
        answer_deferred(reactor)
        if count < EVENTS_AT_ONCE:  # so every socket that was ready has been served
            add(&reactor.rounds, 1)
    for index in range(reactor.table_count):
        if reactor.connections[index] != NULL:
            close_connection(reactor, reactor.connections[index], ENDED)
    disown(&reactor.thread)


cdef bint watch(Reactor *reactor, int fd, uint64_t id) noexcept nogil:
    """Control only, before the thread starts."""
    cdef epoll_event event
    event.events, event.data.u64 = EPOLLIN, id
    return epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0


cdef bint start_listening(Reactor *reactor, int listen_fd) noexcept nogil:
    """Control only, before the thread starts. Sockets are numbered in the order of the calls. False beyond the most."""
    if reactor.listeners == LISTENERS_MAX:
        return False
    reactor.listen_fds[reactor.listeners] = listen_fd
    reactor.listeners += 1
    return watch(reactor, listen_fd, LISTENING)


cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil:
    """Control only. NULL where the system lacks memory or descriptors."""
    cdef Reactor *reactor = <Reactor *>calloc(1, sizeof(Reactor))
    cdef int kind
    if reactor == NULL:
        return NULL
    reactor.shared, reactor.number = shared, number
    for kind in range(KINDS):
        reactor.holders[kind].table = shared.hosts
        reactor.holders[kind].listed_bytes_min = shared.limits.listed_bytes_min[kind]
    reactor.is_accepting = True
    reactor.epoll_fd = epoll_create1(EPOLL_CLOEXEC)
    reactor.inbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    reactor.scratch_in = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.scratch_out = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.scratch_received = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.wire.outgoing, reactor.wire.outgoing_room = <uint8_t *>malloc(SEALED_BYTES), SEALED_BYTES
    reactor.shakes_hands = number == shared.carriers
    reactor.waiting = <HostRing *>calloc(1, sizeof(HostRing))
    pthread_mutex_init(&reactor.routes_mutex, NULL)
    pthread_mutex_init(&reactor.table_mutex, NULL)
    pthread_mutex_init(&reactor.inbox.mutex, NULL)
    if (
        reactor.epoll_fd < 0
        or reactor.inbox.wake_fd < 0
        or reactor.scratch_in == NULL
        or reactor.scratch_out == NULL
        or reactor.scratch_received == NULL
        or reactor.wire.outgoing == NULL
        or reactor.waiting == NULL
        or not watch(reactor, reactor.inbox.wake_fd, WOKEN)
    ):
        free_reactor(reactor)
        return NULL
    return reactor


cdef void free_pending(Reactor *reactor) noexcept nogil:
    """Control only, after the thread ended. Free the messages, and close the descriptors in them."""
    cdef Message *message
    while reactor.pending != NULL:
        message = reactor.pending
        reactor.pending = following(message)
        if message.kind == ADD:
            close(message.number)
        if message.kind == MOVE:
            release_connection(reactor.shared, <Connection *>message.data, FAILED)
            message.data = NULL
        free_message(message)


cdef void free_reactor(Reactor *reactor) noexcept nogil:
    """Control only, after the thread ended."""
    free_pending(reactor)
    reactor.pending = take_all(&reactor.inbox)
    free_pending(reactor)
    close(reactor.epoll_fd)
    close(reactor.inbox.wake_fd)
    pthread_mutex_destroy(&reactor.routes_mutex)
    pthread_mutex_destroy(&reactor.table_mutex)
    pthread_mutex_destroy(&reactor.inbox.mutex)
    free_deferred(reactor)
    free_counts(&reactor.counts)
    free(reactor.scratch_in)
    free(reactor.scratch_out)
    free(reactor.scratch_received)
    free(reactor.wire.outgoing)
    free(reactor.waiting)
    free(reactor.connections)
    free(reactor.free_indexes)
    free(reactor)

"""The loop of a reactor: level-triggered epoll over the listening sockets, the connections and the inbox.

How long lookups take is measured in a sample of the loop's rounds, about one in SAMPLED. The distance varies, so that
samples do not fall into step with the requests of clients. In a sampled round the clock is read when `epoll_wait`
returns, and after each connection's turn. So a lookup's time begins when its socket was seen to be ready, ends when its
answer was given to the socket, and contains the turns of the connections before it. Other rounds read no clock.

All functions are for the reactor's thread.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

from posix.unistd cimport close

from rocketns._fast.connections.connection cimport (
    ENDED, FAILED, NEW, Buffer, Connection, make_room, send_answers, send_output
)
from rocketns._fast.connections.hosts cimport HostRing, leave_ring
from rocketns._fast.connections.messages cimport (
    ABORT, APPLIED, CLOSE_IDLE, CONTEXT_CHANGED, END, MOVE, REPLY, REPLY_AWAITS_DELIVERY, REPLY_GENERATION_SHIFT,
    REPLY_TO_BROKER, RESUME, SHED, STOP, Message, following, free_message, drain
)
from rocketns._fast.reactor.answers cimport deferred_wait_ms, end_round, free_deferred
from rocketns._fast.reactor.connection_table cimport (
    close_connection, close_some_idle, note_broker, release_connection, relieve
)
from rocketns._fast.reactor.opening cimport (
    accept_some, detect_plain, listen_again, note_context, on_handshake_event, adopt, step_handshakes
)
from rocketns._fast.reactor.reactor_state cimport (
    LATENCY_BUCKETS, LISTENING, REACTOR_SHIFT, SCRATCH_BYTES, SEALED_BYTES, WOKEN, find_connection, must_wait
)
from rocketns._fast.reactor.turns cimport answer_deferred, end_connection, finish_turn, receive, resume, resume_stalled
from rocketns._fast.routes.asked_topics cimport free_counts
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.routes.slots cimport LISTENERS_MAX
from rocketns._fast.system.sockets cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, epoll_create1,
    epoll_ctl, epoll_event, epoll_wait, eventfd, monotonic_ms, monotonic_ns
)
from rocketns._fast.system.threads cimport (
    add, assert_equal, disown, load, own, pthread_mutex_destroy, pthread_mutex_init, store
)

cdef enum:
    SAMPLED = 64  # a power of two


cdef inline int64_t begin_sample(Reactor *reactor) noexcept nogil:
    """Reactor thread only. The present time in nanoseconds if this round is a sample, and otherwise 0."""
    reactor.rounds_to_sample -= 1
    if reactor.rounds_to_sample > 0:
        return 0
    reactor.sample_state = reactor.sample_state * 1664525 + 1013904223  # Numerical Recipes; the high bits vary well
    reactor.rounds_to_sample = SAMPLED // 2 + <int>((reactor.sample_state >> 16) % SAMPLED)
    return monotonic_ns()


cdef enum:
    EVENTS_AT_ONCE = 256
    # In one round of the loop, so that no kind of work waits for all of another kind.
    HANDLED_AT_ONCE_MAX = 256
    HANDLED_BYTES_AT_ONCE_MAX = 1024 * 1024
    NO_MEMORY_WAIT_MS = 100

# An id has room for the number of each reactor, and the ids of the loop's own events are no reactor's.
assert_equal(REACTOR_SHIFT + 8, 64)
assert_equal(READERS_MAX < 255, True)


cdef void on_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
    """Reactor thread only. The connection may be gone afterwards."""
    if connection.stage == NEW and events & EPOLLIN and not detect_plain(reactor, connection):
        return
    if events & EPOLLOUT and connection.output.size:
        send_output(connection)
        connection.active_ms = reactor.now_ms
    if events & EPOLLOUT:
        resume(reactor, connection)
    if events & EPOLLIN and not must_wait(reactor, connection) and not connection.has_frames:
        receive(reactor, connection)
    elif events & (EPOLLERR | EPOLLHUP) and not connection.armed & EPOLLIN:
        connection.is_failed = True
    finish_turn(reactor, connection)


cdef void measured_event(Reactor *reactor, Connection *connection, uint32_t events, int64_t began_ns) noexcept nogil:
    """Reactor thread only. `on_event` in a round that began at that time and is a sample."""
    cdef int64_t before[2]
    cdef int64_t took_ns, lookups
    cdef int bucket = 0, kind
    before[0], before[1] = load(&reactor.lookups[0]), load(&reactor.lookups[1])
    on_event(reactor, connection, events)
    took_ns = monotonic_ns() - began_ns
    while bucket < LATENCY_BUCKETS - 1 and took_ns > reactor.shared.limits.latency_bounds_ns[bucket]:
        bucket += 1
    for kind in range(2):
        lookups = load(&reactor.lookups[kind]) - before[kind]
        add(&reactor.latency[kind][bucket], lookups)
        add(&reactor.latency_ns[kind], lookups * took_ns)


cdef void reply(Reactor *reactor, Connection *connection, Message *message) noexcept nogil:
    """Reactor thread only. Send control's answers; so many requests are no longer in flight."""
    cdef Buffer *output = &connection.output
    connection.in_flight -= min(connection.in_flight, <uint32_t>message.number)
    if message.moment & REPLY_AWAITS_DELIVERY:
        connection.is_awaited = True
    # Its peer may look up by its certificate, as control decided by the policy of this generation.
    if connection.access_generation == <uint32_t>(message.moment >> REPLY_GENERATION_SHIFT):
        connection.is_guarded = False
    note_broker(reactor, connection, message.moment & REPLY_TO_BROKER != 0)
    if message.size:
        connection.active_ms = reactor.now_ms
        if connection.tls == NULL and output.data == NULL:  # a large answer is not copied: it becomes the output
            output.data, output.room, output.size = message.data, message.size, message.size
            message.data = NULL
            send_output(connection)
        else:
            send_answers(connection, &reactor.wire, message.data, message.size)
    if connection.in_flight == 0:
        leave_ring(reactor.waiting, &connection.queued)  # it has no frame at control now, so it may hand one over
    resume(reactor, connection)
    finish_turn(reactor, connection)


cdef void handle_message(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. The message stays the caller's."""
    cdef Connection *connection
    if message.kind == MOVE:
        adopt(reactor, <Connection *>message.data)
        message.data = NULL
    elif message.kind == CONTEXT_CHANGED:
        note_context(reactor)
    elif message.kind == CLOSE_IDLE:
        reactor.idle_at_ms = message.moment
        if reactor.idle_left == 0:  # a check under way goes on where it is
            reactor.idle_left = reactor.table_count
        close_some_idle(reactor)
        if not reactor.is_accepting and reactor.listeners:
            listen_again(reactor, True)
    elif message.kind == RESUME:
        reactor.may_resume = not reactor.shakes_hands
    elif message.kind == SHED:
        store(&reactor.shared.asked[message.number], 0)  # before the look, see `connection_table.ask_to_close`
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
        reactor.pending = drain(&reactor.inbox)
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
            step_handshakes(reactor)
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
    cdef size_t connections_max = <size_t>shared.limits.connections_max
    if reactor == NULL:
        return NULL
    reactor.shared, reactor.number = shared, number
    reactor.is_accepting = True
    reactor.epoll_fd = epoll_create1(EPOLL_CLOEXEC)
    reactor.inbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    reactor.scratch_in = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.scratch_received = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.wire.outgoing, reactor.wire.outgoing_room = <uint8_t *>malloc(SEALED_BYTES), SEALED_BYTES
    reactor.shakes_hands = number == shared.carriers
    reactor.waiting = <HostRing *>calloc(1, sizeof(HostRing))
    reactor.connections = <Connection **>calloc(connections_max, sizeof(Connection *))
    reactor.free_indexes = <uint32_t *>calloc(connections_max, sizeof(uint32_t))
    pthread_mutex_init(&reactor.routes_mutex, NULL)
    pthread_mutex_init(&reactor.table_mutex, NULL)
    pthread_mutex_init(&reactor.inbox.mutex, NULL)
    if (
        reactor.epoll_fd < 0
        or reactor.inbox.wake_fd < 0
        or reactor.scratch_in == NULL
        or not make_room(&reactor.written, SCRATCH_BYTES)
        or reactor.scratch_received == NULL
        or reactor.wire.outgoing == NULL
        or reactor.waiting == NULL
        or reactor.connections == NULL
        or reactor.free_indexes == NULL
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
        if message.kind == MOVE:
            release_connection(reactor.shared, <Connection *>message.data, FAILED)
            message.data = NULL
        free_message(message)


cdef void free_reactor(Reactor *reactor) noexcept nogil:
    """Control only, after the thread ended."""
    free_pending(reactor)
    reactor.pending = drain(&reactor.inbox)
    free_pending(reactor)
    close(reactor.epoll_fd)
    close(reactor.inbox.wake_fd)
    pthread_mutex_destroy(&reactor.routes_mutex)
    pthread_mutex_destroy(&reactor.table_mutex)
    pthread_mutex_destroy(&reactor.inbox.mutex)
    free_deferred(reactor)
    free_counts(&reactor.counts)
    free(reactor.scratch_in)
    free(reactor.written.data)
    free(reactor.scratch_received)
    free(reactor.wire.outgoing)
    free(reactor.waiting)
    free(reactor.connections)
    free(reactor.free_indexes)
    free(reactor)

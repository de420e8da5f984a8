"""The loop of a reactor: level-triggered epoll over the listening sockets, the connections and the inbox.

How long lookups take is measured in a sample of the loop's rounds, about one in SAMPLED. The distance varies, so that
samples do not fall into step with the requests of clients. In a sampled round the clock is read when `epoll_wait`
returns, and after each connection's turn. So a lookup's time begins when its socket was seen to be ready, ends when its
answer was given to the socket, and contains the turns of the connections before it. Other rounds read no clock.

All functions are for the reactor's thread.
"""

from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport Buffer, Connection, Ending, Stage, send_answers, send_output
from rocketns._fast.connections.messages cimport (
    REPLY_AWAITS_DELIVERY, REPLY_GENERATION_SHIFT, REPLY_TO_BROKER, Message, MessageKind, dequeue, drain, free_message,
    leave_ring
)
from rocketns._fast.reactor.connection_table cimport close_connection, close_some_idle, note_broker, relieve
from rocketns._fast.reactor.opening cimport (
    accept_some, adopt, detect_plain, listen_again, note_context, on_handshake_event, step_handshakes
)
from rocketns._fast.reactor.reactor_state cimport (
    LATENCY_BUCKETS, LISTENING, REACTOR_SHIFT, WOKEN, find_connection, must_wait
)
from rocketns._fast.reactor.turns cimport answer_deferred, end_connection, finish_turn, receive, resume, resume_stalled
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.system.sockets cimport (
    EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, epoll_event, epoll_wait, monotonic_ms, monotonic_ns
)
from rocketns._fast.system.threads cimport add, assert_equal, disown, load, own, store

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
    if connection.stage == Stage.NEW and events & EPOLLIN and not detect_plain(reactor, connection):
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
        leave_ring(&reactor.waiting, &connection.message)  # it has no frame at control now, so it may hand one over
    resume(reactor, connection)
    finish_turn(reactor, connection)


cdef void handle_message(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. The message stays the caller's."""
    cdef Connection *connection
    if message.kind == MessageKind.CONTEXT_CHANGED:
        note_context(reactor)
    elif message.kind == MessageKind.CLOSE_IDLE:
        reactor.idle_at_ms = message.moment
        if reactor.idle_left == 0:  # a check under way goes on where it is
            reactor.idle_left = reactor.table_end
        if not reactor.is_accepting and reactor.listeners:
            listen_again(reactor, True)
    elif message.kind == MessageKind.RESUME:
        reactor.may_resume = not reactor.shakes_hands
    elif message.kind == MessageKind.SHED:
        store(&reactor.shared.asked[message.number], 0)  # before the look, see `connection_table.ask_to_close`
        relieve(reactor, message.number, NULL)
    elif message.kind == MessageKind.STOP:
        reactor.is_stopping = True
    else:
        if message.kind == MessageKind.REPLY:
            add(&reactor.shared.replied_bytes, -<int64_t>message.size)
        connection = find_connection(reactor, message.connection)
        if connection == NULL:
            return
        if message.kind == MessageKind.REPLY:
            reply(reactor, connection, message)
        elif message.kind == MessageKind.END:
            end_connection(reactor, connection, Ending.ENDED)
            finish_turn(reactor, connection)
        elif message.kind == MessageKind.ABORT:
            close_connection(reactor, connection, Ending.ENDED)


cdef void handle_messages(Reactor *reactor) noexcept nogil:
    """Reactor thread only. A bounded number of messages; the rest waits for the next round.

    A message counts as handled after all messages that it caused were counted as sent: see `has_handled_all` of the tests.
    """
    cdef Message *message
    cdef size_t handled_bytes = 0
    cdef int handled = 0
    if reactor.pending.first == NULL:
        drain(&reactor.inbox, &reactor.pending)
    while reactor.pending.first != NULL and handled < HANDLED_AT_ONCE_MAX and handled_bytes < HANDLED_BYTES_AT_ONCE_MAX:
        message = <Message *>dequeue(&reactor.pending)
        handled += 1
        handled_bytes += message.size
        if message.kind == MessageKind.MOVE:
            adopt(reactor, <Connection *>message)
        else:
            handle_message(reactor, message)
            free_message(message)
        add(&reactor.messages_handled, 1)


cdef bint has_work(const Reactor *reactor) noexcept nogil:
    """Reactor thread only. Whether the last round left something to do."""
    return (
        reactor.pending.first != NULL
        or reactor.may_resume
        or reactor.idle_left != 0
        or (reactor.deferred.last != NULL and (<Message *>reactor.deferred.last.owner).number > load(&reactor.rounds))
        or (reactor.shakes_hands and reactor.waiting.turns.first != NULL)
    )


cdef int wait_ms(const Reactor *reactor) noexcept nogil:
    """Reactor thread only. How long epoll may block; -1 is for ever."""
    cdef int64_t most_ms = -1 if reactor.is_accepting else NO_MEMORY_WAIT_MS, due_ms
    if has_work(reactor):
        return 0
    if reactor.deferred.first != NULL:
        due_ms = max((<Message *>reactor.deferred.first.owner).moment - monotonic_ms(), <int64_t>0)
        most_ms = due_ms if most_ms < 0 else min(most_ms, due_ms)
    return <int>most_ms


cdef void run_reactor(Reactor *reactor) noexcept nogil:
    """The thread of a reactor, or that of handshakes: runs until STOP, then closes every connection."""
    cdef epoll_event events[EVENTS_AT_ONCE]
    cdef Connection *connection
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
        if woken or reactor.pending.first != NULL:
            handle_messages(reactor)
            woken = False
        if reactor.may_resume:
            resume_stalled(reactor)
        if reactor.shakes_hands:
            step_handshakes(reactor)
        if reactor.idle_left:
            close_some_idle(reactor)
        if count < EVENTS_AT_ONCE:  # so every socket that was ready has been served
            add(&reactor.rounds, 1)
        answer_deferred(reactor)
    for each in range(reactor.table_end):
        if reactor.connections[each] != NULL:
            close_connection(reactor, reactor.connections[each], Ending.ENDED)
    disown(&reactor.thread)

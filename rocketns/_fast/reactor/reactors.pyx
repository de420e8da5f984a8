"""Control's side of the reactors: starts and stops them, takes what they hand over, and sends answers back.

The constructor and the methods up to `listen` run before the reactors' threads, `__dealloc__` after them. Control is
the thread that calls `listen`. Methods that only read or write atomic words, or only push a message, are for any thread
that holds the GIL.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from posix.unistd cimport close

cimport cython

from rocketns._fast.access.policy cimport DECISIONS_MAX, Digest, put_in_force, remember_frame
from rocketns._fast.codec.wire cimport frame_size
from rocketns._fast.connections.connection cimport Connection, Ending, make_room
from rocketns._fast.connections.hosts cimport HOSTS, INPUT, OUTPUT, TLS, release_host
from rocketns._fast.connections.messages cimport (
    OPENED_LISTENER_SHIFT, REPLY_AWAITS_DELIVERY, REPLY_GENERATION_SHIFT, REPLY_TO_BROKER, Line, Message, MessageKind,
    dequeue, drain, free_message, is_empty, join_ring, new_message, next_turn
)
from rocketns._fast.reactor.connection_table cimport (
    ANY, Victim, ask_to_close, excess, find_victim, is_far_over, release_connection
)
from rocketns._fast.reactor.reactor cimport run_reactor
from rocketns._fast.reactor.reactor_state cimport (
    DESCRIPTORS_BESIDE_MAX, FRAME_COST_BYTES, LATENCY_BUCKETS, LISTENING, SCRATCH_BYTES, SEALED_BYTES, WOKEN,
    ContextState, Reactor, Tls, find_connection, send_message
)
from rocketns._fast.routes.asked_topics cimport drain_counts, drain_missed, free_counts, make_counts
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.routes.slots cimport LISTENERS_MAX, VIEWS_MAX
from rocketns._fast.system.sockets cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLLIN, epoll_create1, epoll_ctl, epoll_event, eventfd
)
from rocketns._fast.system.threads cimport (
    add, assert_owner, disown, load, own, pthread_mutex_lock,
    pthread_mutex_unlock, store
)
from rocketns._fast.tls.openssl cimport SSL_CTX, ServerContext, openssl

cdef enum:
    COPIED_BYTES_MAX = 64 * 1024  # a larger frame is not copied: Python gets a view of its memory


cdef object frame_of(Message *message):
    """Control only. The frame of a message; the memory of a large one belongs to the view from here on."""
    cdef cython.view.array memory
    if message.size <= COPIED_BYTES_MAX:
        return PyBytes_FromStringAndSize(<char *>message.data, <Py_ssize_t>message.size)
    memory = cython.view.array(shape=(message.size,), itemsize=1, format="B", allocate_buffer=False)
    memory.data, memory.callback_free_data = <char *>message.data, free
    message.data = NULL
    return memoryview(memory).toreadonly()


cdef str text_of(bytes text):
    return text.decode("ascii", "replace")


cdef int deliver_one(Message *message, receiver) except -1:
    """Control only. The message is freed, also if the receiver raises."""
    cdef MessageKind kind = message.kind
    try:
        if kind == MessageKind.FRAME:
            receiver.frame(message.connection, frame_of(message), message.number != 0)
        elif kind == MessageKind.OPENED:
            address, socket_address, certificate = message.data[:message.size].split(b"\0", 2)
            receiver.opened(message.connection, message.host, message.moment & 1 != 0, (
                text_of(address), text_of(socket_address) or None, certificate, message.moment >> OPENED_LISTENER_SHIFT
            ))
        elif kind == MessageKind.CLOSED:
            receiver.closed(message.connection, message.number)
        elif kind == MessageKind.DELIVERED:
            receiver.answers_delivered(message.connection)
        elif kind == MessageKind.LOOKED_UP:
            receiver.looked_up(message.connection, message.number, message.moment)
        elif kind == MessageKind.REFUSED:
            receiver.refused(message.number, *text_of(message.data[:message.size]).split("\0", 1))
        elif kind == MessageKind.TLS_WANTED:
            receiver.tls_wanted()
    finally:
        free_message(message)
    return 0


cdef bint watch(Reactor *reactor, int fd, uint64_t id) noexcept nogil:
    """Control only, before the thread starts."""
    cdef epoll_event event
    event.events, event.data.u64 = EPOLLIN, id
    return epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0


cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil:
    """Control only. NULL where the system lacks memory or descriptors."""
    cdef Reactor *reactor = <Reactor *>calloc(1, sizeof(Reactor))
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
    reactor.connections = <Connection **>calloc(
        <size_t>shared.limits.connections_max + DESCRIPTORS_BESIDE_MAX, sizeof(Connection *)
    )
    if (
        reactor.epoll_fd < 0
        or reactor.inbox.wake_fd < 0
        or reactor.scratch_in == NULL
        or not make_room(&reactor.written, SCRATCH_BYTES)
        or reactor.scratch_received == NULL
        or reactor.wire.outgoing == NULL
        or reactor.connections == NULL
        or (shared.limits.lookup_keys_max and not make_counts(&reactor.counts, shared.limits.lookup_keys_max))
        or not watch(reactor, reactor.inbox.wake_fd, WOKEN)
    ):
        free_reactor(reactor)
        return NULL
    return reactor


cdef void free_messages(Shared *shared, Line *messages) noexcept nogil:
    """Control only. Messages that no reactor has handled, and connections among them."""
    cdef Message *message
    while messages.first != NULL:
        message = <Message *>dequeue(messages)
        if message.kind == MessageKind.MOVE:
            release_connection(shared, <Connection *>message, Ending.FAILED)
        else:
            free_message(message)


cdef void free_reactor(Reactor *reactor) noexcept nogil:
    """Control only, after the thread ended."""
    free_messages(reactor.shared, &reactor.pending)
    free_messages(reactor.shared, &reactor.inbox.messages)
    free_messages(reactor.shared, &reactor.deferred)
    close(reactor.epoll_fd)
    close(reactor.inbox.wake_fd)
    free_counts(&reactor.counts)
    free(reactor.scratch_in)
    free(reactor.written.data)
    free(reactor.scratch_received)
    free(reactor.wire.outgoing)
    free(reactor.connections)
    free(reactor)


cdef enum:
    MESSAGES_OF_HOST_AT_ONCE = 8  # that control takes in a turn of their host

REACTORS_MAX = READERS_MAX


# The garbage collector must not clear the slots before __dealloc__ has used them.
@cython.no_gc_clear
cdef class Reactors:
    def __cinit__(self, RouteSlots slots not None, int count, dict limits not None, Networks proxies=None):
        cdef int number
        self.shared.to_control.wake_fd = -1
        self.slots, self.count, self.hosts, self.proxies = slots, count, HostTable(), proxies
        if not 0 < count <= READERS_MAX:
            raise ValueError(f"{count} reactors: 1 to {READERS_MAX} expected")
        self.shared.to_control.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        self.shared.routes, self.shared.hosts = &slots.routes, &self.hosts.table
        self.shared.policy.decisions = <Digest *>calloc(DECISIONS_MAX, sizeof(Digest))
        if self.shared.policy.decisions == NULL:
            raise MemoryError
        if proxies is not None:
            self.shared.proxies = &proxies.table
        self.shared.clock_ms = -1
        self.shared.limits = limits  # each field by its name; ValueError where one is missing
        self.shared.carriers = count
        for number in range(count + 1):
            self.shared.reactors[number] = new_reactor(&self.shared, number)
            if self.shared.reactors[number] == NULL:
                raise OSError("no memory or no descriptors for a reactor")
            self.shared.reactor_count += 1
            if number < count:
                slots.add_reader(&self.shared.reactors[number].routes_mutex)
        if self.shared.to_control.wake_fd < 0:
            raise OSError("no descriptor for the reactors' wake-up")

    def __dealloc__(self):
        """After the threads of all loops ended."""
        self.slots.reader_count = 0
        for number in range(self.shared.reactor_count):
            free_reactor(self.shared.reactors[number])
        collect(self)
        while self.waiting.turns.first != NULL:
            free_message(next_turn(&self.waiting, 1))
        close(self.shared.to_control.wake_fd)
        if self.shared.tls.context != NULL:
            openssl.SSL_CTX_free(self.shared.tls.context)
        free(self.shared.policy.decisions)

    def run(self, int number):
        """The reactor's thread; the last number, `count`, is the handshake thread's."""
        if not 0 <= number <= self.count:
            raise IndexError(number)
        with nogil:
            run_reactor(self.shared.reactors[number])

    def use_context(self, ServerContext made):
        """Control only. The former one lives as long as a connection has it."""
        cdef SSL_CTX *former
        pthread_mutex_lock(&self.shared.tls.mutex)
        former = self.shared.tls.context
        self.shared.tls.context = NULL if made is None else made.context
        self.shared.tls.state = ContextState.NOT_USABLE if made is None else ContextState.IN_USE
        if made is not None:
            self.shared.tls.verifies_peers = made.verifies_peers
            openssl.SSL_CTX_up_ref(made.context)
        pthread_mutex_unlock(&self.shared.tls.mutex)
        if former != NULL:
            openssl.SSL_CTX_free(former)
        post(self, self.count, MessageKind.CONTEXT_CHANGED, 0, 0, NULL, 0)

    def listen(self, int listen_fd):
        """Control, before `run`."""
        cdef Reactor *reactor = self.shared.reactors[0]
        own(&self.shared.control)
        own(&self.slots.writer)
        if reactor.listeners == LISTENERS_MAX or not watch(reactor, listen_fd, LISTENING):
            raise OSError("the listening socket cannot be watched")
        reactor.listen_fds[reactor.listeners] = listen_fd
        reactor.listeners += 1

    def fileno(self):
        return self.shared.to_control.wake_fd

    def deliver(self, int most, receiver):
        """Control only."""
        cdef Message *message
        assert_owner(&self.shared.control, "deliver")
        collect(self)
        for _ in range(most):
            message = next_turn(&self.waiting, MESSAGES_OF_HOST_AT_ONCE)
            if message == NULL:
                return
            if message.kind == MessageKind.CLOSED or message.kind == MessageKind.REFUSED:
                add(&self.shared.gone, -1)
                add(&self.shared.hosts.hosts[message.host].ended, -1)
                release_host(self.shared.hosts, message.host)
            deliver_one(message, receiver)

    def done_with(self, int64_t frame_bytes, uint16_t host):
        """Control only.

        `queued_bytes` is written before `stalled` is read: see `turns.is_crowded`. `stalled` is cleared before RESUME
        is sent: a reactor that is crowded again after RESUME sets it again, and that must not be lost.
        """
        cdef int64_t queued
        if host >= HOSTS:
            raise IndexError(host)
        queued = add(&self.shared.queued_bytes, -(frame_bytes + FRAME_COST_BYTES))
        add(&self.shared.hosts.hosts[host].queued_bytes, -(frame_bytes + FRAME_COST_BYTES))
        if load(&self.shared.stalled) and queued <= self.shared.limits.queued_bytes_max // 2:
            store(&self.shared.stalled, 0)
            post_all(self, MessageKind.RESUME, 0)

    def end_frame(self):
        """Control only."""
        if add(&self.shared.unapplied, -1) == 0 and load(&self.shared.deferred):
            post_all(self, MessageKind.RESUME, 0)

    @property
    def is_applied(self):
        return load(&self.shared.unapplied) == 0

    def reply(
        self, uint64_t connection, int done, const unsigned char[::1] data, bint awaits_delivery=False,
        bint is_broker=False, int64_t allowed_in=0
    ):
        """Control only: the answers of a connection keep the order in which control gives them."""
        cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
        cdef size_t size = <size_t>data.shape[0]
        cdef int64_t bits = (REPLY_AWAITS_DELIVERY if awaits_delivery else 0) | (REPLY_TO_BROKER if is_broker else 0)
        bits |= allowed_in << REPLY_GENERATION_SHIFT
        post(self, reactor_of(self, connection), MessageKind.REPLY, connection, done, start, size, bits)

    def set_access(self, bint lookups_guarded, bint close_strangers, list networks not None):
        """Control only. The former networks are freed at the end, when no reactor reads them any more."""
        cdef Networks made = Networks(networks)
        assert_owner(&self.shared.control, "set_access")
        put_in_force(&self.shared.policy, made, lookups_guarded, close_strangers)
        self.networks = made

    def remember_allowed(self, const unsigned char[::1] frame not None):
        """Control only."""
        cdef size_t size = <size_t>frame.shape[0]
        assert_owner(&self.shared.control, "remember_allowed")
        if size == 0 or frame_size(&frame[0], size, self.shared.limits.frame_bytes_max) != <int64_t>size:
            return False
        return remember_frame(&self.shared.policy, &frame[0], size)

    def count_here(self, int64_t change):
        """Control only."""
        cdef Victim victim
        add(&self.shared.hosts.charged_bytes[INPUT], change)
        if change <= 0 or excess(&self.shared, INPUT) <= 0:
            return True
        if not find_victim(&self.shared, INPUT, ANY, &victim):
            return False
        ask_to_close(&self.shared, INPUT, victim.owner)
        return not is_far_over(&self.shared, INPUT)

    def end(self, uint64_t connection):
        post(self, reactor_of(self, connection), MessageKind.END, connection, 0, NULL, 0)

    def abort(self, uint64_t connection):
        post(self, reactor_of(self, connection), MessageKind.ABORT, connection, 0, NULL, 0)

    def lookups_of(self, uint64_t connection):
        cdef Reactor *reactor = self.shared.reactors[reactor_of(self, connection)]
        cdef const Connection *found
        cdef int64_t answered = -1
        pthread_mutex_lock(&reactor.table_mutex)
        found = find_connection(reactor, connection)
        if found != NULL:
            answered = load(&found.answered)
        pthread_mutex_unlock(&reactor.table_mutex)
        return answered

    def limit_idle(self, int64_t idle_ms_max):
        store(&self.shared.idle_ms_max, idle_ms_max)

    def close_idle(self, int64_t now_ms):
        post_all(self, MessageKind.CLOSE_IDLE, now_ms)

    def enable(self, bint enabled):
        store(&self.shared.enabled, enabled)

    def latencies(self):
        return [
            ([sum([load(&self.shared.reactors[number].latency[kind][bucket]) for number in range(self.count)])
              for bucket in range(LATENCY_BUCKETS)],
             sum([load(&self.shared.reactors[number].latency_ns[kind]) for number in range(self.count)]))
            for kind in range(2)
        ]

    def drain_lookups(self):
        """Control only."""
        cdef list rows = []
        cdef int64_t lookups = 0, misses = 0
        for number in range(self.count):
            drain_counts(rows, &self.shared.reactors[number].counts, &self.shared.reactors[number].routes_mutex,
                        &lookups, &misses)
        return rows, lookups, misses

    def drain_missing(self):
        """Control only."""
        cdef list rows = []
        for number in range(self.count):
            drain_missed(rows, &self.shared.reactors[number].missing, &self.shared.reactors[number].routes_mutex)
        return rows

    def stop(self):
        """Control only."""
        post_all(self, MessageKind.STOP, 0)
        disown(&self.shared.control)
        disown(&self.slots.writer)

    @property
    def rounds(self):
        return [load(&self.shared.reactors[number].rounds) for number in range(self.count)]

    @property
    def has_news(self):
        return self.waiting.turns.first != NULL or not is_empty(&self.shared.to_control)

    @property
    def incoming_bytes(self):
        return load(&self.shared.hosts.charged_bytes[INPUT]) + load(&self.shared.hosts.charged_bytes[TLS])

    @property
    def outgoing_bytes(self):
        return load(&self.shared.hosts.charged_bytes[OUTPUT])

    @property
    def replied_bytes(self):
        return load(&self.shared.replied_bytes)

    @property
    def queued_bytes(self):
        return load(&self.shared.queued_bytes)

    @property
    def handshakes(self):
        cdef Tls *tls = &self.shared.tls
        return load(&tls.succeeded), load(&tls.failed), load(&tls.spent_ns)

    @property
    def connections(self):
        return load(&self.shared.connections)

    @property
    def turned_away(self):
        return load(&self.shared.turned_away)

    @property
    def access_generation(self):
        return load(&self.shared.policy.generation)

    @property
    def strangers_closed(self):
        return load(&self.shared.policy.strangers_closed)

    def lookups_of_views(self):
        return [sum([load(&self.shared.reactors[number].of_views[view]) for number in range(self.count)])
                for view in range(VIEWS_MAX)]

    @property
    def signed_lookups(self):
        return sum([load(&self.shared.reactors[number].signed_lookups) for number in range(self.count)])

    @property
    def lookups(self):
        return tuple([sum([load(&self.shared.reactors[number].lookups[kind]) for number in range(self.count)])
                      for kind in range(2)])


cdef void collect(Reactors reactors) noexcept:
    """Control only. The messages that came since the last time wait for the turns of their hosts."""
    cdef Line came
    drain(&reactors.shared.to_control, &came)
    while came.first != NULL:
        join_ring(&reactors.waiting, <Message *>dequeue(&came))


cdef int post_all(Reactors reactors, MessageKind kind, int64_t moment) except -1:
    """Any thread. A message to each reactor."""
    for number in range(reactors.shared.reactor_count):
        post(reactors, number, kind, 0, 0, NULL, 0, moment)
    return 0


cdef int reactor_of(Reactors reactors, uint64_t connection) except -1:
    cdef int number = <int>(connection >> 56)
    if number >= reactors.count:
        raise ValueError(f"no connection {connection}")
    return number


cdef int post(
    Reactors reactors, int number, MessageKind kind, uint64_t connection, int argument, const uint8_t *data,
    size_t size, int64_t moment=0
) except -1:
    """Any thread. A message to one reactor, with a copy of the data."""
    cdef Message *message = new_message(kind, NULL, size)
    if message == NULL:
        raise MemoryError
    message.connection, message.number, message.moment = connection, argument, moment
    if size:
        memcpy(message.data, data, size)
    if kind == MessageKind.REPLY:
        add(&reactors.shared.replied_bytes, <int64_t>size)
    send_message(reactors.shared.reactors[number], message)
    return 0

"""The loop of a reactor: level-triggered epoll over the listening socket, connections, and what control says.
"""

from libc.errno cimport EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strlen

from rocketns._fast.system.atomics cimport add, load, store
from rocketns._fast.connections.connection cimport Connection, keep_input, output_space, send_output, unsent
from rocketns._fast.routes.lookup_counts cimport free_counts
from rocketns._fast.connections.messages cimport (
    ABORT,
    ADD,
    ADOPT,
    CLOSE_IDLE,
    END,
    ENDED,
    FAILED,
    GIVE,
    IDLE,
    MOVE,
    REPLY,
    RESUME,
    SHED,
    STOP,
    Message,
    free_message,
    new_message,
    push,
    take_all,
)
from rocketns._fast.reactor.moving cimport drop_moving, give, take_moving
from rocketns._fast.reactor.connection_table cimport add_connection, close_connection, detect_plain, report_opened
from rocketns._fast.reactor.reactor_state cimport SCRATCH_BYTES, Limits, find_connection, must_wait
from rocketns._fast.reactor.shedding cimport relieve
from rocketns._fast.system.sockets cimport (
    EFD_CLOEXEC,
    EFD_NONBLOCK,
    EPOLL_CLOEXEC,
    EPOLL_CTL_ADD,
    EPOLL_CTL_MOD,
    EPOLLERR,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    IPPROTO_TCP,
    SO_RCVBUF,
    SO_SNDBUF,
    SOCK_CLOEXEC,
    SOCK_NONBLOCK,
    SOL_SOCKET,
    TCP_NODELAY,
    accept4,
    close,
    epoll_create1,
    epoll_ctl,
    epoll_event,
    epoll_wait,
    eventfd,
    monotonic_ms,
    set_int,
)
from rocketns._fast.reactor.stalls cimport unstall
from rocketns._fast.system.threads cimport pthread_mutex_destroy, pthread_mutex_init
from rocketns._fast.reactor.turns cimport end_connection, finish_turn, receive, resume, resume_stalled

cdef enum:
    EVENTS_AT_ONCE = 256
    # In one round of the loop, so that none of what it serves waits for all of another.
    ACCEPTED_AT_ONCE_MAX = 64
    HANDLED_AT_ONCE_MAX = 256
    HANDLED_BYTES_AT_ONCE_MAX = 1024 * 1024
    IDLE_CHECKED_AT_ONCE_MAX = 4096
    IDLE_CLOSED_AT_ONCE_MAX = 64
    NO_MEMORY_WAIT_MS = 100

cdef uint64_t LISTENING = <uint64_t>-1
cdef uint64_t WOKEN = <uint64_t>-2


cdef void on_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
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


cdef void deal_out(Reactor *reactor, int fd) noexcept nogil:
    """The next in turn of the reactors that are in use gets the connection."""
    cdef Shared *shared = reactor.shared
    cdef Message *message
    cdef int turn = (reactor.next_reactor + 1) % <int>load(&shared.dealt_to)
    reactor.next_reactor = turn
    if shared.reactors[turn] == reactor:
        add_connection(reactor, fd)
        return
    message = new_message(ADD, 0)
    if message == NULL:
        close(fd)
        add(&shared.connections, -1)
        return
    message.number = fd
    add(&shared.reactors[turn].messages_sent, 1)
    push(&shared.reactors[turn].inbox, message)


cdef void listen_again(Reactor *reactor, bint accepting) noexcept nogil:
    """Stop accepting while the process has no descriptors to spare, or go on."""
    cdef epoll_event event
    event.events, event.data.u64 = EPOLLIN if accepting else 0, LISTENING
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, reactor.listen_fd, &event)
    reactor.is_accepting = accepting


cdef void accept_some(Reactor *reactor) noexcept nogil:
    cdef Limits *limits = &reactor.shared.limits
    cdef int fd
    for _ in range(ACCEPTED_AT_ONCE_MAX):
        fd = accept4(reactor.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
        if fd < 0:
            if errno == EMFILE or errno == ENFILE or errno == ENOBUFS or errno == ENOMEM:
                listen_again(reactor, False)
            if errno != EINTR:
                return
            continue
        if add(&reactor.shared.connections, 1) > limits.connections_max:
            add(&reactor.shared.connections, -1)
            close(fd)
            continue
        set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1)
        if limits.send_buffer_bytes > 0:
            set_int(fd, SOL_SOCKET, SO_SNDBUF, limits.send_buffer_bytes)
        if limits.receive_buffer_bytes > 0:
            set_int(fd, SOL_SOCKET, SO_RCVBUF, limits.receive_buffer_bytes)
        deal_out(reactor, fd)


cdef void adopt(Reactor *reactor, Message *message) noexcept nogil:
    """A connection comes back from the loop, its PROXY header taken off. ``data`` is the address, 0, and input."""
    cdef Connection *connection = add_connection(reactor, message.number)
    cdef size_t input = strlen(<char *>message.data) + 1
    if connection == NULL:
        return
    connection.is_new = False
    if not report_opened(reactor, connection, <char *>message.data):
        connection.is_failed = True
    elif keep_input(connection, message.data + input, message.size - input):
        resume(reactor, connection)
    else:
        connection.is_failed = True
    finish_turn(reactor, connection)


cdef bint add_output(Connection *connection, Message *message) noexcept nogil:
    """The answers behind what is unsent, or taken over where there is nothing; False where there is no memory."""
    cdef uint8_t *space
    if connection.output == NULL:
        connection.output, connection.output_room, connection.output_end = message.data, message.size, message.size
        message.data = NULL
        return True
    space = output_space(connection, message.size)
    if space == NULL:
        return False
    memcpy(space, message.data, message.size)
    connection.output_end += message.size
    return True


cdef void reply(Reactor *reactor, Connection *connection, Message *message) noexcept nogil:
    """Answers of control, and how many requests they are for."""
    connection.in_flight -= min(connection.in_flight, <uint32_t>message.number)
    if message.moment:
        connection.is_awaited = True
    if message.size:
        if add_output(connection, message):
            connection.active_ms = reactor.now_ms
            connection.is_failed = not send_output(connection)
        else:
            connection.is_failed = True
    if connection.is_stalled and connection.in_flight == 0:
        unstall(reactor, connection)  # one frame of each connection goes to control, whatever others sent
    resume(reactor, connection)
    finish_turn(reactor, connection)


cdef bint close_if_idle(Reactor *reactor, Connection *connection, int64_t now_ms) noexcept nogil:
    """End it where no byte came for its limit, or where it could not finish closing for a round."""
    if connection.is_ending:
        if connection.ending_ms >= now_ms:
            return False
        close_connection(reactor, connection, connection.ending)
        return True
    if not 0 < connection.idle_ms_max <= now_ms - connection.active_ms:
        return False
    close_connection(reactor, connection, IDLE)
    return True


cdef void close_some_idle(Reactor *reactor) noexcept nogil:
    """A few of the places that are still to be looked at."""
    cdef int closed = 0
    for _ in range(IDLE_CHECKED_AT_ONCE_MAX):
        if reactor.idle_left == 0 or closed == IDLE_CLOSED_AT_ONCE_MAX:
            return
        reactor.idle_left -= 1
        if reactor.connections[reactor.idle_left] != NULL:
            closed += close_if_idle(reactor, reactor.connections[reactor.idle_left], reactor.idle_at_ms)


cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil:
    """Begin a round over all places; one that is not over goes on where it is."""
    reactor.idle_at_ms = now_ms
    if reactor.idle_left == 0:
        reactor.idle_left = reactor.table_count
    close_some_idle(reactor)
    if not reactor.is_accepting and reactor.listen_fd >= 0:
        listen_again(reactor, True)


cdef void handle_message(Reactor *reactor, Message *message) noexcept nogil:
    cdef Connection *connection
    if message.kind == ADD:
        add_connection(reactor, message.number)
    elif message.kind == GIVE:
        give(reactor, message)
    elif message.kind == ADOPT:
        adopt(reactor, message)
    elif message.kind == CLOSE_IDLE:
        close_idle(reactor, message.moment)
    elif message.kind == RESUME:
        reactor.may_resume = True
        resume_stalled(reactor)
    elif message.kind == SHED:
        store(&reactor.shared.asked[message.number], 0)
        relieve(reactor, message.number)
    elif message.kind == STOP:
        reactor.is_stopping = True
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
    """A bounded part of the messages from control; the rest waits for the next round."""
    cdef Message *message
    cdef size_t handled_bytes = 0
    cdef int handled = 0
    if reactor.pending == NULL:
        reactor.pending = take_all(&reactor.inbox)
    while reactor.pending != NULL and handled < HANDLED_AT_ONCE_MAX and handled_bytes < HANDLED_BYTES_AT_ONCE_MAX:
        message = reactor.pending
        reactor.pending = message.next
        handled += 1
        handled_bytes += message.size
        if message.kind == MOVE:
            take_moving(reactor, message)
        else:
            handle_message(reactor, message)
            free_message(message)
        add(&reactor.messages_handled, 1)


cdef bint has_work(const Reactor *reactor) noexcept nogil:
    """Whether something was left for this round."""
    return reactor.pending != NULL or reactor.may_resume or reactor.idle_left != 0


cdef int wait_ms(const Reactor *reactor) noexcept nogil:
    if has_work(reactor):
        return 0
    return -1 if reactor.is_accepting else NO_MEMORY_WAIT_MS


cdef void run_reactor(Reactor *reactor) noexcept nogil:
    """Runs until STOP; then every connection is closed."""
    cdef epoll_event events[EVENTS_AT_ONCE]
    cdef Connection *connection
    cdef uint32_t place
    cdef int count, each
    cdef bint woken = False, was_left
    while not reactor.is_stopping:
        was_left = has_work(reactor)
        count = epoll_wait(reactor.epoll_fd, events, EVENTS_AT_ONCE, wait_ms(reactor))
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
                if connection != NULL:
                    on_event(reactor, connection, events[each].events)
        if woken or reactor.pending != NULL:
            handle_messages(reactor)
            woken = False
        if reactor.may_resume:
            resume_stalled(reactor)
        if reactor.idle_left:
            close_some_idle(reactor)
        if count < EVENTS_AT_ONCE:  # so nothing that was ready has been left out
            add(&reactor.rounds, 1)
    for place in range(reactor.table_count):
        if reactor.connections[place] != NULL:
            close_connection(reactor, reactor.connections[place], ENDED)


cdef bint watch(Reactor *reactor, int fd, uint64_t id) noexcept nogil:
    cdef epoll_event event
    event.events, event.data.u64 = EPOLLIN, id
    return epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0


cdef bint start_listening(Reactor *reactor, int listen_fd) noexcept nogil:
    reactor.listen_fd = listen_fd
    return watch(reactor, listen_fd, LISTENING)


cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil:
    """NULL where the system lacks memory or descriptors."""
    cdef Reactor *reactor = <Reactor *>calloc(1, sizeof(Reactor))
    if reactor == NULL:
        return NULL
    reactor.shared, reactor.number = shared, number
    reactor.listen_fd = -1
    reactor.is_accepting = True
    reactor.epoll_fd = epoll_create1(EPOLL_CLOEXEC)
    reactor.inbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    reactor.scratch_in = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.scratch_out = <uint8_t *>malloc(SCRATCH_BYTES)
    pthread_mutex_init(&reactor.routes_mutex, NULL)
    pthread_mutex_init(&reactor.inbox.mutex, NULL)
    if (
        reactor.epoll_fd < 0
        or reactor.inbox.wake_fd < 0
        or reactor.scratch_in == NULL
        or reactor.scratch_out == NULL
        or not watch(reactor, reactor.inbox.wake_fd, WOKEN)
    ):
        free_reactor(reactor)
        return NULL
    return reactor


cdef void free_pending(Reactor *reactor) noexcept nogil:
    cdef Message *message
    while reactor.pending != NULL:
        message = reactor.pending
        reactor.pending = message.next
        if message.kind == ADD or message.kind == ADOPT:
            close(message.number)
        if message.kind == MOVE:
            drop_moving(reactor, message)
        else:
            free_message(message)


cdef void free_reactor(Reactor *reactor) noexcept nogil:
    """After its loop ended: the messages it did not read go too, and the descriptors in them."""
    free_pending(reactor)
    reactor.pending = take_all(&reactor.inbox)
    free_pending(reactor)
    close(reactor.epoll_fd)
    close(reactor.inbox.wake_fd)
    pthread_mutex_destroy(&reactor.routes_mutex)
    pthread_mutex_destroy(&reactor.inbox.mutex)
    free_counts(&reactor.counts)
    free(reactor.scratch_in)
    free(reactor.scratch_out)
    free(reactor.holders[0].heap)
    free(reactor.holders[1].heap)
    free(reactor.connections)
    free(reactor.free_indexes)
    free(reactor)

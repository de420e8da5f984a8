"""The loop of a reactor: sockets in, look-ups answered at once, every other whole frame to control.

Level-triggered epoll; a connection gets bounded work in a turn. A connection with an unanswered request at control has
all further ones handed over too, so that its requests take effect in their order.
"""

from libc.errno cimport EAGAIN, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, strdup, strlen

from rocketns._fast.atomics cimport add, load, store
from rocketns._fast.connection cimport (
    drop_input,
    drop_output,
    keep_input,
    make_input_room,
    output_space,
    send_output,
    unsent,
)
from rocketns._fast.hashing cimport hash_bytes
from rocketns._fast.lookup cimport Answer, answer_room, write_answer
from rocketns._fast.lookup_counts cimport count_lookup, free_counts
from rocketns._fast.messages cimport (
    ABORT,
    ADD,
    ADOPT,
    CLOSE_IDLE,
    CLOSED,
    END,
    ENDED,
    FAILED,
    FOREIGN,
    FRAME,
    IDLE,
    MALFORMED_FRAME,
    OPENED,
    PEER_CLOSED,
    REPLY,
    RESUME,
    STOP,
    TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT,
    Message,
    free_message,
    new_message,
    push,
    take_all,
)
from rocketns._fast.route_request cimport RouteRequest, follows_layout, learn_layout, recognise_request
from rocketns._fast.routes cimport (
    HANDED_OVER,
    NO_ROOM,
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_unlock,
)
from rocketns._fast.sockets cimport (
    EFD_CLOEXEC,
    EFD_NONBLOCK,
    EPOLL_CLOEXEC,
    EPOLL_CTL_ADD,
    EPOLL_CTL_DEL,
    EPOLL_CTL_MOD,
    EPOLLERR,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    IPPROTO_TCP,
    MSG_DONTWAIT,
    MSG_NOSIGNAL,
    MSG_PEEK,
    NI_NUMERICHOST,
    NI_NUMERICSERV,
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
    getnameinfo,
    getpeername,
    monotonic_ms,
    recv,
    send,
    set_int,
    sockaddr,
    sockaddr_storage,
    socklen_t,
)
from rocketns._fast.wire cimport MALFORMED, NEED_MORE, frame_size, read_uint32

cdef enum:
    EVENTS_AT_ONCE = 256
    SCRATCH_BYTES = 128 * 1024
    TURN_FRAMES_MAX = 256
    RECEIVED_AT_ONCE_MAX = 128 * 1024  # look-ups of other connections wait for no more than this
    ACCEPTED_AT_ONCE_MAX = 64
    PLACES_MIN = 64
    PLACES_MAX = 1 << 24
    ADDRESS_ROOM = 96
    HOST_ROOM = 80
    LEARNT_MAX = 8  # times that a connection's layout is looked for, as one may send many
    PORT_ROOM = 8
    NO_MEMORY_WAIT_MS = 100

cdef uint64_t LISTENING = <uint64_t>-1
cdef uint64_t WOKEN = <uint64_t>-2


cdef inline uint64_t id_of(const Reactor *reactor, const Connection *connection) noexcept nogil:
    return (<uint64_t>reactor.number << 56) | (<uint64_t>connection.place << 32) | connection.generation


cdef inline Connection *find_connection(Reactor *reactor, uint64_t id) noexcept nogil:
    """NULL for one that is gone: its place may have been taken by another generation."""
    cdef uint32_t place = (id >> 32) & 0xFFFFFF
    cdef Connection *connection = reactor.connections[place] if place < reactor.place_count else NULL
    return connection if connection != NULL and connection.generation == <uint32_t>id else NULL


cdef inline bint must_wait(Reactor *reactor, const Connection *connection) noexcept nogil:
    return (
        connection.is_ending
        or connection.is_failed
        or connection.is_stalled
        or connection.in_flight >= reactor.shared.limits.in_flight_max
        or unsent(connection) > reactor.shared.limits.high_water_bytes
    )


cdef void forget_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Free it and its place; its descriptor is somebody else's or closed."""
    add(&reactor.shared.incoming_bytes, -<int64_t>connection.input_counted)
    add(&reactor.shared.outgoing_bytes, -<int64_t>connection.output_counted)
    drop_input(connection)
    drop_output(connection)
    free(connection.farewell)
    free(connection.address)
    reactor.connections[connection.place] = NULL
    reactor.free_places[reactor.free_count] = connection.place
    reactor.free_count += 1
    free(connection)


cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    close(connection.fd)
    add(&reactor.shared.connections, -1)
    if connection.farewell != NULL:
        connection.farewell.number = ending
        push(&reactor.shared.to_control, connection.farewell)
        connection.farewell = NULL
    forget_connection(reactor, connection)


cdef bint has_place(Reactor *reactor) noexcept nogil:
    """Whether there is a place for one more connection; makes more where none is free."""
    cdef uint32_t room
    cdef Connection **connections
    cdef uint32_t *free_places
    if reactor.free_count or reactor.place_count < reactor.place_room:
        return True
    room = max(reactor.place_room * 2, <uint32_t>PLACES_MIN)
    if room > PLACES_MAX:
        return False
    connections = <Connection **>realloc(reactor.connections, room * sizeof(Connection *))
    if connections != NULL:
        reactor.connections = connections
    free_places = <uint32_t *>realloc(reactor.free_places, room * sizeof(uint32_t))
    if free_places != NULL:
        reactor.free_places = free_places
    if connections == NULL or free_places == NULL:
        return False
    reactor.place_room = room
    return True


cdef Connection *add_connection(Reactor *reactor, int fd) noexcept nogil:
    """A connection on this reactor; NULL, and the descriptor closed, where there is no room."""
    cdef Connection *connection = <Connection *>calloc(1, sizeof(Connection)) if has_place(reactor) else NULL
    cdef epoll_event event
    if connection == NULL:
        close(fd)
        add(&reactor.shared.connections, -1)
        return NULL
    if reactor.free_count:
        reactor.free_count -= 1
        connection.place = reactor.free_places[reactor.free_count]
    else:
        connection.place = reactor.place_count
        reactor.place_count += 1
    reactor.generation += 1
    connection.generation = reactor.generation
    connection.fd, connection.is_new, connection.ending = fd, True, FAILED
    connection.active_ms = reactor.now_ms
    connection.idle_ms_max = load(&reactor.shared.idle_ms_max)
    connection.armed = EPOLLIN
    reactor.connections[connection.place] = connection
    event.events, event.data.u64 = EPOLLIN, id_of(reactor, connection)
    if epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0:
        close_connection(reactor, connection, FAILED)
        return NULL
    return connection


cdef bint say_opened(Reactor *reactor, Connection *connection, const char *address) noexcept nogil:
    """Tell control of a plain connection and its peer; False where there is no memory."""
    cdef uint64_t id = id_of(reactor, connection)
    cdef Message *message = new_message(OPENED, id)
    cdef size_t length = strlen(address)
    connection.farewell = new_message(CLOSED, id)
    if message != NULL:
        message.data = <uint8_t *>malloc(length + 1)
    if message == NULL or message.data == NULL or connection.farewell == NULL:
        free(message)
        free(connection.farewell)
        connection.farewell = NULL
        return False
    memcpy(message.data, address, length)
    message.size = length
    if reactor.counts.by_client:
        connection.address = strdup(address)
        connection.address_hash = hash_bytes(<const uint8_t *>address, length, &reactor.shared.routes.key)
    push(&reactor.shared.to_control, message)
    return True


cdef void write_peer(int fd, char *out) noexcept nogil:
    """The peer's address as host:port; ``out`` has ADDRESS_ROOM bytes."""
    cdef sockaddr_storage address
    cdef socklen_t length = sizeof(sockaddr_storage)
    cdef char host[HOST_ROOM]
    cdef char port[PORT_ROOM]
    snprintf(out, ADDRESS_ROOM, "?")
    if getpeername(fd, <sockaddr *>&address, &length) < 0:
        return
    if getnameinfo(<sockaddr *>&address, length, host, HOST_ROOM, port, PORT_ROOM,
                   NI_NUMERICHOST | NI_NUMERICSERV) == 0:
        snprintf(out, ADDRESS_ROOM, "%s:%s", <char *>host, <char *>port)


cdef bint give_away(Reactor *reactor, Connection *connection) noexcept nogil:
    """Control's loop carries the connection on, of which nothing was read; False where there is no memory."""
    cdef Message *message = new_message(FOREIGN, 0)
    if message == NULL:
        return False
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL)
    message.number = connection.fd
    push(&reactor.shared.to_control, message)
    forget_connection(reactor, connection)
    return True


cdef bint is_plain(Reactor *reactor, Connection *connection) noexcept nogil:
    """Look at the first byte of a new connection; False where it is no longer this reactor's, or nothing came."""
    cdef uint8_t first
    cdef char address[ADDRESS_ROOM]
    cdef ssize_t got = recv(connection.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT)
    if got < 0 and (errno == EAGAIN or errno == EINTR):
        return False
    if got == 1 and first == 0 and reactor.shared.limits.takes_plain:
        connection.is_new, connection.is_detecting = False, True
        write_peer(connection.fd, address)
        if say_opened(reactor, connection, address):
            return True
    elif got == 1 and give_away(reactor, connection):
        return False
    close_connection(reactor, connection, PEER_CLOSED if got == 0 else FAILED)
    return False


cdef void send_scratch(Reactor *reactor, Connection *connection) noexcept nogil:
    """Send the answers written so far; what the peer does not take waits in the connection."""
    cdef size_t sent = 0
    cdef ssize_t taken
    cdef uint8_t *space
    while sent < reactor.out_size and not connection.is_failed:
        taken = send(connection.fd, reactor.scratch_out + sent, reactor.out_size - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
        if taken >= 0:
            sent += <size_t>taken
        elif errno == EAGAIN:
            break
        elif errno != EINTR:
            connection.is_failed = True
    if sent < reactor.out_size and not connection.is_failed:
        space = output_space(connection, reactor.out_size - sent)
        if space == NULL:
            connection.is_failed = True
        else:
            memcpy(space, reactor.scratch_out + sent, reactor.out_size - sent)
            connection.output_end += reactor.out_size - sent
    reactor.out_size = 0


cdef bint recognise(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, RouteRequest *request
) noexcept nogil:
    """First by the likeness to what this connection sent before."""
    if connection.layout and follows_layout(frame, size, &reactor.layouts[connection.layout - 1], request):
        return True
    if not recognise_request(frame, size, request):
        return False
    if connection.layouts_learnt < LEARNT_MAX:
        connection.layouts_learnt += 1
        connection.layout = find_layout(reactor, frame, size, request)
    return True


cdef uint8_t find_layout(
    Reactor *reactor, const uint8_t *frame, size_t size, const RouteRequest *request
) noexcept nogil:
    """The number of the layout, from 1, that the request has; 0 where it has none. A new one takes an old one's place."""
    cdef RouteRequest ignored
    cdef uint8_t place
    for place in range(LAYOUTS):
        if follows_layout(frame, size, &reactor.layouts[place], &ignored):
            return place + 1
    place = reactor.next_layout
    reactor.next_layout = (place + 1) % LAYOUTS
    if learn_layout(frame, size, request, &reactor.layouts[place]):
        return place + 1
    return 0


cdef inline void count(
    Reactor *reactor, const Connection *connection, const RouteRequest *request, const Answer *answer
) noexcept nogil:
    """For the journal, where it wants to know. The caller holds the mutex."""
    if reactor.counts.table != NULL and answer.size > 0:
        count_lookup(&reactor.counts, request, answer.topic_hash, connection.address, connection.address_hash,
                     answer.is_absent)


cdef void answer_in_scratch(
    Reactor *reactor, Connection *connection, const RouteRequest *request, Answer *answer
) noexcept nogil:
    cdef size_t used = reactor.out_size
    pthread_mutex_lock(&reactor.reading)
    write_answer(reactor.shared.routes, request, reactor.shared.limits.serialize_type, reactor.scratch_out + used,
                 SCRATCH_BYTES - used, answer)
    count(reactor, connection, request, answer)
    pthread_mutex_unlock(&reactor.reading)
    if answer.size > 0:
        reactor.out_size += <size_t>answer.size


cdef void answer_in_output(
    Reactor *reactor, Connection *connection, const RouteRequest *request, Answer *answer
) noexcept nogil:
    """Behind answers that the peer has not taken, or one that is larger than the scratch."""
    cdef size_t room
    cdef uint8_t *space
    pthread_mutex_lock(&reactor.reading)
    room = answer_room(reactor.shared.routes, request)
    space = output_space(connection, room)
    if space != NULL:
        write_answer(reactor.shared.routes, request, reactor.shared.limits.serialize_type, space, room, answer)
        count(reactor, connection, request, answer)
    pthread_mutex_unlock(&reactor.reading)
    if space == NULL:
        connection.is_failed, answer.size = True, NO_ROOM
    elif answer.size > 0:
        connection.output_end += <size_t>answer.size


cdef bint answer(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil:
    """Answer a look-up; False where the frame is for control."""
    cdef RouteRequest request
    cdef Answer written
    if connection.in_flight or not load(&reactor.shared.enabled):
        return False
    if not recognise(reactor, connection, frame, size, &request):
        return False
    written.size = NO_ROOM
    if unsent(connection) == 0:
        answer_in_scratch(reactor, connection, &request, &written)
    if written.size == NO_ROOM and reactor.out_size:
        send_scratch(reactor, connection)
        if unsent(connection) == 0 and not connection.is_failed:
            answer_in_scratch(reactor, connection, &request, &written)
    if written.size == NO_ROOM and not connection.is_failed:
        answer_in_output(reactor, connection, &request, &written)
    if written.size == HANDED_OVER:
        return False
    add(&reactor.absent if written.is_absent else &reactor.answered, 1)
    return True


cdef bint hand_over(Reactor *reactor, Connection *connection, uint8_t *frame, size_t size) noexcept nogil:
    """Give a frame to control; False where control has too many bytes waiting. Takes the input buffer if it can."""
    cdef Message *message
    cdef bint is_whole_input = frame == connection.input and size == connection.input_size
    if load(&reactor.shared.queued_bytes) > reactor.shared.limits.queued_bytes_max:
        connection.is_stalled = True
        store(&reactor.shared.stalled, 1)
        if load(&reactor.shared.queued_bytes) > reactor.shared.limits.queued_bytes_max:
            return False
        connection.is_stalled = False  # control caught up just now, and may not have seen it
    message = new_message(FRAME, id_of(reactor, connection))
    if message != NULL:
        message.data = frame if is_whole_input else <uint8_t *>malloc(size)
    if message == NULL or message.data == NULL:
        free(message)
        connection.is_failed = True
        return False
    if is_whole_input:
        connection.input = NULL
        connection.input_size = connection.input_room = 0
    else:
        memcpy(message.data, frame, size)
    message.size = size
    connection.in_flight += 1
    add(&reactor.shared.queued_bytes, <int64_t>size + FRAME_COST_BYTES)
    push(&reactor.shared.to_control, message)
    return True


cdef void end_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Close after what was written; nothing more is read."""
    connection.is_ending, connection.ending, connection.ending_ms = True, ending, reactor.now_ms


cdef void take_frames(Reactor *reactor, Connection *connection, uint8_t *data, size_t size) noexcept nogil:
    """Answer or hand over the whole frames at ``data`` as far as the connection may; the rest stays in its input."""
    cdef size_t at = 0
    cdef int64_t length
    cdef int frames = 0
    if connection.is_detecting and size >= <size_t>reactor.shared.limits.detection_bytes:
        connection.is_detecting = False
    connection.has_frames = False
    while not connection.is_detecting and not must_wait(reactor, connection):
        length = frame_size(data + at, size - at, reactor.shared.limits.frame_bytes_max)
        if length == NEED_MORE:
            break
        if length == MALFORMED:
            end_connection(reactor, connection, MALFORMED_FRAME)
            break
        if frames == TURN_FRAMES_MAX:
            connection.has_frames = True
            break
        frames += 1
        if not answer(reactor, connection, data + at, <size_t>length):
            if not hand_over(reactor, connection, data + at, <size_t>length):
                break
            if connection.input == NULL and data != reactor.scratch_in:
                return  # the input was the frame, and is control's now
        at += <size_t>length
    if not keep_input(connection, data + at, size - at):
        connection.is_failed = True


cdef void receive(Reactor *reactor, Connection *connection) noexcept nogil:
    """One `recv`, and what it completes. A frame that is being collected gets room as its bytes come."""
    cdef size_t have = connection.input_size, room = SCRATCH_BYTES, wanted
    cdef uint8_t *data = reactor.scratch_in
    cdef ssize_t got
    if have:
        wanted = 4 + <size_t>read_uint32(connection.input) if have >= 4 else 0
        wanted = wanted if wanted > have else have + SCRATCH_BYTES
        wanted = min(wanted, max(have * 2, <size_t>SCRATCH_BYTES))
        if not make_input_room(connection, wanted):
            connection.is_failed = True
            return
        data, room = connection.input, min(wanted - have, <size_t>RECEIVED_AT_ONCE_MAX)
    got = recv(connection.fd, data + (have if data == connection.input else 0), room, MSG_DONTWAIT)
    if got <= 0:
        if got == 0:
            connection.is_failed, connection.ending = True, PEER_CLOSED
        elif errno != EAGAIN and errno != EINTR:
            connection.is_failed = True
        return
    connection.active_ms = reactor.now_ms
    if have:
        connection.input_size += <size_t>got
    take_frames(reactor, connection, data, have + <size_t>got)


cdef void resume(Reactor *reactor, Connection *connection) noexcept nogil:
    if connection.input_size and not must_wait(reactor, connection):
        take_frames(reactor, connection, connection.input, connection.input_size)


cdef void shed(Reactor *reactor) noexcept nogil:
    """Too many bytes of unfinished frames: the connection of this reactor that holds the most goes."""
    cdef Connection *largest = NULL
    cdef uint32_t place
    for place in range(reactor.place_count):
        if reactor.connections[place] != NULL:
            if largest == NULL or reactor.connections[place].input_size > largest.input_size:
                largest = reactor.connections[place]
    if largest != NULL and largest.input_size:
        close_connection(reactor, largest, TOO_MUCH_UNFINISHED)


cdef void finish_turn(Reactor *reactor, Connection *connection) noexcept nogil:
    """Send what was written, and wait for what the connection may do next; or close it."""
    cdef Shared *shared = reactor.shared
    cdef epoll_event event
    cdef uint32_t wanted = 0
    if reactor.out_size:
        send_scratch(reactor, connection)
    if connection.input_size != connection.input_counted:
        add(&shared.incoming_bytes, <int64_t>connection.input_size - <int64_t>connection.input_counted)
        connection.input_counted = connection.input_size
    if unsent(connection) != connection.output_counted:
        add(&shared.outgoing_bytes, <int64_t>unsent(connection) - <int64_t>connection.output_counted)
        connection.output_counted = unsent(connection)
    if unsent(connection) > shared.limits.outgoing_bytes_max:
        connection.is_failed, connection.ending = True, TOO_MUCH_UNSENT
    if connection.is_failed or (connection.is_ending and unsent(connection) == 0):
        close_connection(reactor, connection, connection.ending)
        return
    if not must_wait(reactor, connection):
        wanted = EPOLLIN
    if unsent(connection) or (connection.has_frames and wanted):
        wanted |= EPOLLOUT
    if wanted != connection.armed:
        event.events, event.data.u64 = wanted, id_of(reactor, connection)
        epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, connection.fd, &event)
        connection.armed = wanted
    if load(&shared.incoming_bytes) > shared.limits.incoming_bytes_max:
        shed(reactor)


cdef void on_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil:
    if connection.is_new and events & EPOLLIN and not is_plain(reactor, connection):
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
    """The next reactor in turn gets the connection."""
    cdef Shared *shared = reactor.shared
    cdef Message *message
    cdef int turn = reactor.next_reactor
    reactor.next_reactor = (turn + 1) % shared.reactor_count
    if shared.reactors[turn] == reactor:
        add_connection(reactor, fd)
        return
    message = new_message(ADD, 0)
    if message == NULL:
        close(fd)
        add(&shared.connections, -1)
        return
    message.number = fd
    add(&shared.reactors[turn].told, 1)
    push(&shared.reactors[turn].from_control, message)


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
    if not say_opened(reactor, connection, <char *>message.data):
        connection.is_failed = True
    elif keep_input(connection, message.data + input, message.size - input):
        resume(reactor, connection)
    else:
        connection.is_failed = True
    finish_turn(reactor, connection)


cdef void reply(Reactor *reactor, Connection *connection, const Message *message) noexcept nogil:
    """Answers of control, and how many requests they are for."""
    cdef uint8_t *space
    connection.in_flight -= min(connection.in_flight, <uint32_t>message.number)
    if message.size:
        space = output_space(connection, message.size)
        if space == NULL:
            connection.is_failed = True
        else:
            memcpy(space, message.data, message.size)
            connection.output_end += message.size
            connection.active_ms = reactor.now_ms
            connection.is_failed = not send_output(connection)
    resume(reactor, connection)
    finish_turn(reactor, connection)


cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil:
    """End connections without a byte for their limit, and those that could not finish closing for a round."""
    cdef Connection *connection
    cdef uint32_t place
    for place in range(reactor.place_count):
        connection = reactor.connections[place]
        if connection == NULL:
            continue
        if connection.is_ending:
            if connection.ending_ms < now_ms:
                close_connection(reactor, connection, connection.ending)
        elif 0 < connection.idle_ms_max <= now_ms - connection.active_ms:
            close_connection(reactor, connection, IDLE)
    if not reactor.is_accepting and reactor.listen_fd >= 0:
        listen_again(reactor, True)


cdef void resume_stalled(Reactor *reactor) noexcept nogil:
    cdef Connection *connection
    cdef uint32_t place
    for place in range(reactor.place_count):
        connection = reactor.connections[place]
        if connection != NULL and connection.is_stalled:
            connection.is_stalled = False
            resume(reactor, connection)
            finish_turn(reactor, connection)


cdef void obey(Reactor *reactor, Message *message) noexcept nogil:
    cdef Connection *connection
    if message.kind == ADD:
        add_connection(reactor, message.number)
    elif message.kind == ADOPT:
        adopt(reactor, message)
    elif message.kind == CLOSE_IDLE:
        close_idle(reactor, message.moment)
    elif message.kind == RESUME:
        resume_stalled(reactor)
    elif message.kind == STOP:
        reactor.is_stopping = True
    else:
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


cdef void obey_all(Reactor *reactor) noexcept nogil:
    cdef Message *message = take_all(&reactor.from_control)
    cdef Message *next
    while message != NULL:
        next = message.next
        obey(reactor, message)
        free_message(message)
        add(&reactor.obeyed, 1)
        message = next


cdef void run_reactor(Reactor *reactor) noexcept nogil:
    """Until told to stop; then every connection is closed."""
    cdef epoll_event events[EVENTS_AT_ONCE]
    cdef Connection *connection
    cdef uint32_t place
    cdef int count, each
    while not reactor.is_stopping:
        count = epoll_wait(reactor.epoll_fd, events, EVENTS_AT_ONCE, -1 if reactor.is_accepting else NO_MEMORY_WAIT_MS)
        reactor.now_ms = load(&reactor.shared.clock_ms)
        if reactor.now_ms < 0:
            reactor.now_ms = monotonic_ms()
        if not reactor.is_accepting and count == 0:
            listen_again(reactor, True)
        for each in range(count):
            if events[each].data.u64 == WOKEN:
                obey_all(reactor)
            elif events[each].data.u64 == LISTENING:
                accept_some(reactor)
            else:
                connection = find_connection(reactor, events[each].data.u64)
                if connection != NULL:
                    on_event(reactor, connection, events[each].events)
    for place in range(reactor.place_count):
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
    reactor.from_control.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    reactor.scratch_in = <uint8_t *>malloc(SCRATCH_BYTES)
    reactor.scratch_out = <uint8_t *>malloc(SCRATCH_BYTES)
    pthread_mutex_init(&reactor.reading, NULL)
    pthread_mutex_init(&reactor.from_control.mutex, NULL)
    if (
        reactor.epoll_fd < 0
        or reactor.from_control.wake_fd < 0
        or reactor.scratch_in == NULL
        or reactor.scratch_out == NULL
        or not watch(reactor, reactor.from_control.wake_fd, WOKEN)
    ):
        free_reactor(reactor)
        return NULL
    return reactor


cdef void free_reactor(Reactor *reactor) noexcept nogil:
    """After its loop ended: the messages it did not read go too, and the descriptors in them."""
    cdef Message *message = take_all(&reactor.from_control)
    cdef Message *next
    while message != NULL:
        next = message.next
        if message.kind == ADD or message.kind == ADOPT:
            close(message.number)
        free_message(message)
        message = next
    close(reactor.epoll_fd)
    close(reactor.from_control.wake_fd)
    pthread_mutex_destroy(&reactor.reading)
    pthread_mutex_destroy(&reactor.from_control.mutex)
    free_counts(&reactor.counts)
    free(reactor.scratch_in)
    free(reactor.scratch_out)
    free(reactor.connections)
    free(reactor.free_places)
    free(reactor)

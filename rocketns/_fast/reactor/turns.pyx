"""A connection's turn: bytes in, whole frames answered or handed over, answers out, and every limit kept.

The work of a turn is bounded. While a request of the connection waits at control, its further requests are handed over
too, so they take effect in their order. All functions are for the reactor's thread.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.string cimport memcpy, memset

from rocketns._fast.access.networks cimport MAY_LOOK_UP, flags_of
from rocketns._fast.access.policy cimport copy_policy
from rocketns._fast.codec.proxy_header cimport DETECTION_BYTES
from rocketns._fast.codec.wire cimport (
    HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, LENGTH_BYTES, MALFORMED, NEED_MORE, frame_size, read_uint32
)
from rocketns._fast.connections.connection cimport (
    UNFINISHED_RECORD_MAX, Ending, Stage, drop, keep, make_room, receive_some, send_wire
)
from rocketns._fast.connections.hosts cimport (
    INPUT, KINDS, OF_BROKERS, OF_STRANGERS, OUTPUT, REQUESTS, TLS, Hosts, spend_token
)
from rocketns._fast.connections.messages cimport (
    Message, MessageKind, dequeue, free_message, join_ring, new_message, next_turn, push
)
from rocketns._fast.reactor.answers cimport answer, refuse, send_written
from rocketns._fast.reactor.connection_table cimport (
    PROGRESS_BYTES, charge_bytes, close_connection, excess, note_progress, relieve
)
from rocketns._fast.reactor.reactor_state cimport (
    FRAME_COST_BYTES, SCRATCH_BYTES, TLS_BYTES, Shared, assert_reactor, find_connection, must_wait, notify_control
)
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_MOD, EPOLLIN, EPOLLONESHOT, EPOLLOUT, epoll_ctl, epoll_event, monotonic_ms
)
from rocketns._fast.system.threads cimport add, load, pthread_mutex_lock, pthread_mutex_unlock, store
from rocketns._fast.tls.openssl cimport Progress, open_records, openssl, seal_end

cdef enum:
    # The most that others wait for in one turn: frames, and bytes of answers and of frames for control.
    TURN_FRAMES_MAX = 256
    TURN_BYTES_MAX = 256 * 1024
    RECEIVED_AT_ONCE_MAX = 128 * 1024
    RECORDS_BYTES_AT_ONCE_MAX = 32 * 1024  # 1,400 records of one byte
    COPIED_INPUT_MAX = 4096  # so much waiting input is copied to the scratch, and received behind
    FIRST_FRAME_BYTES_MAX = 256 * 1024
    SMALL_HOST_BYTES_MAX = 2 * 1024 * 1024
    RESUMED_AT_ONCE_MAX = 64


cdef bint is_crowded(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Whether too many bytes wait for control. If so, control sends RESUME when it caught up.

    The reactor writes `stalled` and then reads `queued_bytes` again. Control writes `queued_bytes` and then reads
    `stalled` (`Reactors.done_with`). Both words are sequentially consistent, so at least one of the two sees what the
    other wrote. Without the second read, control could finish its last frame between the reactor's first read and its
    write: then nobody would send RESUME.
    """
    if load(&reactor.shared.queued_bytes) <= reactor.shared.limits.queued_bytes_max:
        return False
    store(&reactor.shared.stalled, 1)
    return load(&reactor.shared.queued_bytes) > reactor.shared.limits.queued_bytes_max


cdef bint may_hand_over(Reactor *reactor, Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. Whether control takes a frame now.

    A connection without a frame at control may hand one over even if control is crowded, so others cannot shut it out.
    That frame has FIRST_FRAME_BYTES_MAX at most; any size if a broker registered from the connection, or if little of
    its host is at control. Both have room where a crowd has none left: the three may fill a quarter, a half and three
    eighths of what may be held of input.
    """
    cdef int64_t queued = load(&reactor.shared.queued_bytes), of_host
    cdef int64_t most = reactor.shared.limits.charged_bytes_max[INPUT]
    if connection.in_flight == 0:
        if queued <= most // 4 and size <= FIRST_FRAME_BYTES_MAX:
            return True
        if queued <= most // 2 and connection.is_broker:
            return True
        of_host = load(&reactor.shared.hosts.hosts[connection.message.host].queued_bytes)
        if of_host == 0 or of_host + <int64_t>size <= SMALL_HOST_BYTES_MAX:
            if queued + <int64_t>size <= most * 3 // 8:
                return True
    if reactor.waiting.turns.first != NULL and not reactor.is_resuming:
        return False  # others wait already
    return not is_crowded(reactor)


cdef bint hand_over(
    Reactor *reactor, Connection *connection, uint8_t *frame, size_t size, bint is_beyond_rate
) noexcept nogil:
    """Reactor thread only. Give a frame to control; False where it must wait. Control refuses one beyond the rate.

    If the frame is the whole input, the input buffer goes with it, and nothing is copied.
    """
    cdef Message *message
    cdef bint is_whole_input = frame == connection.input.data and size == connection.input.size
    if not may_hand_over(reactor, connection, size):
        join_ring(&reactor.waiting, &connection.message)
        return False
    message = new_message(MessageKind.FRAME, &connection.message, 0 if is_whole_input else size)
    if message == NULL:
        connection.is_failed = True
        return False
    if is_whole_input:
        message.data, message.size = frame, size
        memset(&connection.input, 0, sizeof(Buffer))
    else:
        memcpy(message.data, frame, size)
    send_to_control(reactor, connection, message, is_beyond_rate)
    return True


cdef void send_to_control(
    Reactor *reactor, Connection *connection, Message *message, bint is_beyond_rate
) noexcept nogil:
    """Reactor thread only. `queued_bytes` and `unapplied` are raised before the push, because control may take the
    frame and lower them at once."""
    cdef int64_t size = <int64_t>message.size + FRAME_COST_BYTES
    message.number = is_beyond_rate
    connection.in_flight += 1
    reactor.turn_bytes += message.size
    add(&reactor.shared.queued_bytes, size)
    add(&reactor.shared.hosts.hosts[message.host].queued_bytes, size)
    add(&reactor.shared.unapplied, 1)
    push(&reactor.shared.to_control, message)


cdef void end_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Reactor thread only. Close after the unsent answers; nothing more is read."""
    connection.is_ending, connection.ending, connection.ending_ms = True, ending, reactor.now_ms


cdef bint admit(Policy *policy, PolicyCopy *copy, Connection *connection) noexcept nogil:
    """Reactor thread only. Judge a connection by the policy in force. False: it is a stranger, and must be closed.

    Whether it may stay, and which of its lookups a reactor answers, is decided by its networks, once a policy.
    """
    cdef bint is_stranger
    cdef int flags = 0  # a peer without an address is in no network, not even in ::/0
    pthread_mutex_lock(&policy.mutex)
    copy_policy(policy, copy)
    connection.access_generation = <uint32_t>copy.generation
    if connection.peer.has_address and policy.networks != NULL:
        flags = flags_of(policy.networks, connection.peer.address, False)
    connection.is_guarded = policy.guards_lookups and not flags & MAY_LOOK_UP
    is_stranger = load(&policy.closes_strangers) and flags == 0
    pthread_mutex_unlock(&policy.mutex)
    if is_stranger:
        add(&policy.strangers_closed, 1)
    return not is_stranger


cdef bint process_frame(Reactor *reactor, Connection *connection, uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Answer or hand over one frame; False where it must wait. Then it keeps its token."""
    cdef Hosts *hosts = reactor.shared.hosts
    cdef int bucket = OF_BROKERS if connection.is_broker else OF_STRANGERS
    cdef size_t header_end  # control needs no more of what it refuses
    if load(&hosts.cost_ns[REQUESTS]) and not (
        connection.is_let_through or spend_token(hosts, connection.message.host, bucket, reactor.now_ms)
    ):
        header_end = HEAD_BYTES + <size_t>(read_uint32(frame + HEADER_WORD_AT) & HEADER_LENGTH_MASK)
        return refuse(reactor, connection, frame, size) or hand_over(reactor, connection, frame, header_end, True)
    connection.is_let_through = False
    if answer(reactor, connection, frame, size, False) or hand_over(reactor, connection, frame, size, False):
        return True
    connection.is_let_through = True
    return False


cdef void process_frames(Reactor *reactor, Connection *connection, uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Answer or hand over whole frames, as many as the connection may; keep the rest as input."""
    cdef size_t at = 0
    cdef int64_t length
    cdef int frames = 0
    if connection.stage == Stage.DETECTING and size >= DETECTION_BYTES:
        connection.stage = Stage.CARRIED
    connection.has_frames = False
    reactor.turn_bytes = 0
    if connection.access_generation != load(&reactor.shared.policy.generation) and not admit(
        &reactor.shared.policy, &reactor.policy_copy, connection
    ):
        end_connection(reactor, connection, Ending.STRANGER)
    while connection.stage != Stage.DETECTING and not must_wait(reactor, connection):
        length = frame_size(data + at, size - at, reactor.shared.limits.frame_bytes_max)
        if length == NEED_MORE:
            break
        if length == MALFORMED:
            end_connection(reactor, connection, Ending.MALFORMED_FRAME)
            break
        if frames == TURN_FRAMES_MAX or reactor.turn_bytes >= TURN_BYTES_MAX:
            connection.has_frames = True
            break
        frames += 1
        if not process_frame(reactor, connection, data + at, <size_t>length):
            break
        if connection.input.data == NULL and data != reactor.scratch_in:
            return  # the input was the frame, and is control's now
        at += <size_t>length
    if at:
        connection.moved[INPUT] += PROGRESS_BYTES  # what is kept belongs to another frame
    if not keep(&connection.input, data + at, size - at):
        connection.is_failed = True


cdef void process_received(
    Reactor *reactor, Connection *connection, uint8_t *data, size_t have, size_t room, size_t received
) noexcept nogil:
    """Reactor thread only. Take the frames in ``have`` bytes and those that were received.

    These are behind ``data + have``; of a TLS connection they are in `scratch_received`, and their plain text has
    ``room`` there, at least UNFINISHED_RECORD_MAX more than was received.
    """
    cdef Progress progress = Progress.WANTS_MORE
    cdef size_t came = received
    if connection.tls != NULL:
        reactor.wire.incoming, reactor.wire.incoming_size = reactor.scratch_received, received
        progress = open_records(connection.tls, &reactor.wire, data + have, room, &came)
        send_wire(connection, &reactor.wire)  # a reply to what the records ask for, or an alert
        reactor.wire.incoming_size = 0
    if data == connection.input.data:
        connection.input.size += came
    elif have:
        drop(&connection.input)
    process_frames(reactor, connection, data, have + came)
    if progress == Progress.HAS_ENDED:
        end_connection(reactor, connection, Ending.PEER_CLOSED)
    elif progress != Progress.WANTS_MORE:  # IS_DONE would be more plain text than records, which cannot be
        end_connection(reactor, connection, Ending.TLS_FAILED)


cdef void process_records(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. The input is records, which came with the end of the handshake."""
    cdef size_t received = min(connection.input.size, <size_t>SCRATCH_BYTES - UNFINISHED_RECORD_MAX)
    memcpy(reactor.scratch_received, connection.input.data + connection.input.start, received)
    drop(&connection.input)
    process_received(reactor, connection, reactor.scratch_in, 0, SCRATCH_BYTES, received)


cdef void receive(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. One `recv`, and the frames that it completes. The room for a frame grows as its bytes come.
    """
    cdef size_t spare = 0 if connection.tls == NULL else UNFINISHED_RECORD_MAX
    cdef size_t most = RECEIVED_AT_ONCE_MAX if connection.tls == NULL else RECORDS_BYTES_AT_ONCE_MAX
    cdef size_t have = connection.input.size, room = SCRATCH_BYTES - have, wanted
    cdef uint8_t *data = reactor.scratch_in
    cdef uint8_t *into
    cdef size_t got
    if 0 < have <= COPIED_INPUT_MAX:
        memcpy(data, connection.input.data + connection.input.start, have)
    elif have:
        wanted = LENGTH_BYTES + <size_t>read_uint32(connection.input.data + connection.input.start)
        wanted = wanted if wanted > have else have + SCRATCH_BYTES
        wanted = min(wanted, max(have * 2, <size_t>SCRATCH_BYTES))
        if not make_room(&connection.input, wanted + spare):
            connection.is_failed = True
            return
        data, room = connection.input.data, min(wanted - have, <size_t>RECEIVED_AT_ONCE_MAX - spare) + spare
    into = data + have if connection.tls == NULL else reactor.scratch_received
    got = receive_some(connection, into, min(room - spare, most), reactor.now_ms)
    if got:
        process_received(reactor, connection, data, have, room, got)


cdef void resume(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Go on with the waiting input, if the connection may."""
    cdef Buffer *input = &connection.input
    if input.size and not must_wait(reactor, connection):
        process_frames(reactor, connection, input.data + input.start, input.size)


cdef void resume_stalled(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Let a few waiting connections hand over, the hosts by turns, while control has room."""
    cdef Connection *connection
    assert_reactor(reactor, "resume_stalled")
    for _ in range(RESUMED_AT_ONCE_MAX):
        if reactor.waiting.turns.first == NULL or is_crowded(reactor):
            reactor.may_resume = False
            return
        connection = <Connection *>next_turn(&reactor.waiting, 1)
        reactor.is_resuming = True
        resume(reactor, connection)
        reactor.is_resuming = False
        finish_turn(reactor, connection)


cdef void answer_deferred(Reactor *reactor) noexcept nogil:
    """Reactor thread only, at the end of a round: what was ready has been read. Answer the deferred lookups that are
    due. Where reactors may not answer such a lookup any more, control does."""
    cdef Shared *shared = reactor.shared
    cdef Connection *connection
    cdef Message *message
    assert_reactor(reactor, "answer_deferred")
    reactor.has_accepted = False
    while reactor.deferred.first != NULL:
        message = <Message *>reactor.deferred.first.owner
        if (message.number > load(&reactor.rounds) or load(&shared.unapplied)) and monotonic_ms() < message.moment:
            return
        dequeue(&reactor.deferred)
        add(&shared.hosts.hosts[message.host].deferred, -1)
        add(&shared.deferred, -1)
        connection = find_connection(reactor, message.connection)
        if connection == NULL or connection.is_ending:
            free_message(message)
            continue
        if connection.access_generation == load(&shared.policy.generation) and answer(
            reactor, connection, message.data, message.size, True
        ):
            free_message(message)
        else:
            send_to_control(reactor, connection, message, False)
        finish_turn(reactor, connection)


cdef void finish_turn(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send what was written and ask for the next events; or close the connection.

    The connection may be gone afterwards.
    """
    cdef Shared *shared = reactor.shared
    cdef const Buffer *output = &connection.output
    cdef epoll_event event
    cdef uint32_t wanted = EPOLLONESHOT if reactor.shakes_hands else 0
    cdef size_t waiting = connection.input.start + connection.input.size
    cdef int kind
    assert_reactor(reactor, "finish_turn")
    if reactor.written.size:
        send_written(reactor, connection)
    # The memory before the input and the output counts too; of TLS also that of a record which is not whole.
    if connection.tls != NULL and connection.stage == Stage.CARRIED:
        charge_bytes(reactor, TLS, connection, TLS_BYTES)
        if openssl.SSL_has_pending(connection.tls):
            waiting += UNFINISHED_RECORD_MAX
    charge_bytes(reactor, INPUT, connection, waiting)
    charge_bytes(reactor, OUTPUT, connection, output.start + output.size)
    if connection.is_awaited and output.size <= shared.limits.high_water_bytes:
        connection.is_awaited = False  # control parks the connection's requests until it takes this message
        if not notify_control(reactor, connection, MessageKind.DELIVERED, 0, 0):
            connection.is_failed = True
    if output.size > shared.limits.outgoing_bytes_max:
        connection.is_failed, connection.ending = True, Ending.TOO_MUCH_UNSENT
    if connection.is_failed or (connection.is_ending and output.size == 0):
        if not connection.is_failed and connection.tls != NULL:
            seal_end(connection.tls, &reactor.wire)
            send_wire(connection, &reactor.wire)
        close_connection(reactor, connection, connection.ending)
        return
    if not must_wait(reactor, connection) and connection.stage != Stage.WITHOUT_CONTEXT:
        # With frames left, more of them would only wake the loop again and again while the peer reads no answers.
        wanted |= EPOLLOUT if connection.has_frames else EPOLLIN
    if output.size:
        wanted |= EPOLLOUT
    if wanted != connection.armed or reactor.shakes_hands:
        if wanted & EPOLLIN and not connection.armed & EPOLLIN and connection.charged[INPUT]:
            # Its peer was kept waiting.
            note_progress(reactor, INPUT, connection)
        event.events, event.data.u64 = wanted, connection.message.connection
        epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, connection.fd, &event)
        connection.armed = wanted
    for kind in range(KINDS):
        if excess(shared, kind) > 0:
            connection = relieve(reactor, kind, connection if kind != TLS else NULL)

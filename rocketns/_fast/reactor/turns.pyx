"""A connection's turn: bytes in, whole frames answered or handed over, answers out, and every limit kept.

The work of a turn is bounded. While a request of the connection waits at control, its further requests are handed over
too, so they take effect in their order. All functions are for the reactor's thread.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from rocketns._fast.codec.proxy_header cimport DETECTION_BYTES
from rocketns._fast.codec.wire cimport MALFORMED, NEED_MORE, frame_size, read_uint32
from rocketns._fast.connections.connection cimport (
    MALFORMED_FRAME, PEER_CLOSED, PROGRESS_BYTES, STRANGER, TLS_FAILED, TOO_MUCH_UNSENT, count_held, drop_input,
    keep_input, make_input_room, note_progress, unsent
)
from rocketns._fast.connections.hosts cimport INPUT, KINDS, OUTPUT, REQUESTS, TLS, join_ring, take_turn
from rocketns._fast.connections.messages cimport FRAME, TAKEN, Message, message_with, new_message, push
from rocketns._fast.reactor.answers cimport (
    UNFINISHED_RECORD_MAX, answer, header_end, input_memory, may_ask, next_due, open_received, refuse, send_end,
    send_scratch
)
from rocketns._fast.reactor.connection_table cimport admit, close_connection
from rocketns._fast.reactor.evicting cimport excess, relieve
from rocketns._fast.reactor.reactor_state cimport (
    EPOCHS, FRAME_COST_BYTES, SCRATCH_BYTES, TLS_BYTES, Deferred, Shared, assert_reactor, find_connection, id_of,
    must_wait
)
from rocketns._fast.system.sockets cimport EPOLL_CTL_MOD, EPOLLIN, EPOLLOUT, MSG_DONTWAIT, epoll_ctl, epoll_event, recv
from rocketns._fast.system.threads cimport add, load, store
from rocketns._fast.tls.openssl cimport HAS_ENDED, HAS_FAILED, WANTS_MORE, Progress

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
    LENGTH_BYTES = 4  # of the length before a frame


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
    its host is at control. Both have room where a crowd has none left.
    """
    cdef int64_t queued = load(&reactor.shared.queued_bytes), of_host
    if connection.in_flight == 0:
        if connection.is_known and queued <= reactor.shared.limits.known_frames_bytes_max:
            return True
        if size <= FIRST_FRAME_BYTES_MAX and queued <= reactor.shared.limits.first_frames_bytes_max:
            return True
        of_host = load(&reactor.shared.hosts.hosts[connection.host].queued_bytes)
        if of_host == 0 or of_host + <int64_t>size <= SMALL_HOST_BYTES_MAX:
            if queued + <int64_t>size <= reactor.shared.limits.small_hosts_frames_bytes_max:
                return True
    if reactor.waiting.waiting and not reactor.is_resuming:
        return False  # others wait already
    return not is_crowded(reactor)


cdef bint hand_over(
    Reactor *reactor, Connection *connection, uint8_t *frame, size_t size, bint is_beyond_rate
) noexcept nogil:
    """Reactor thread only. Give a frame to control; False where it must wait. Control refuses one beyond the rate."""
    if not may_hand_over(reactor, connection, size):
        join_ring(reactor.waiting, &connection.queued, connection.host)
        return False
    return send_to_control(reactor, connection, frame, size, is_beyond_rate)


cdef int64_t count_arrival(Shared *shared) noexcept nogil:
    """Reactor thread only. Count a frame in the present epoch, which is returned. Control may end it at this moment, and
    find that nothing has arrived: so the epoch is read again, and the frame counts in the next one.
    """
    cdef int64_t epoch = load(&shared.epoch)
    add(&shared.arriving[epoch % EPOCHS], 1)
    while load(&shared.epoch) != epoch:
        add(&shared.arriving[epoch % EPOCHS], -1)
        epoch = load(&shared.epoch)
        add(&shared.arriving[epoch % EPOCHS], 1)
    return epoch


cdef bint send_to_control(
    Reactor *reactor, Connection *connection, uint8_t *frame, size_t size, bint is_beyond_rate
) noexcept nogil:
    """Reactor thread only. False where there is no memory.

    If the frame is the whole input, the input buffer goes with it, and nothing is copied. `queued_bytes` and
    `arriving` are raised before the push, because control may take the frame and lower them at once.
    """
    cdef Message *message
    cdef bint is_whole_input = frame == connection.input and size == connection.input_size
    message = message_with(FRAME, id_of(reactor, connection), 0 if is_whole_input else size)
    if message == NULL:
        connection.is_failed = True
        return False
    if is_whole_input:
        message.data, message.size = frame, size
        connection.input = NULL
        connection.input_start = connection.input_size = connection.input_room = 0
    else:
        memcpy(message.data, frame, size)
    message.number, message.queued.host = is_beyond_rate, connection.host
    connection.in_flight += 1
    reactor.turn_bytes += size
    add(&reactor.shared.queued_bytes, <int64_t>size + FRAME_COST_BYTES)
    add(&reactor.shared.hosts.hosts[connection.host].queued_bytes, <int64_t>size + FRAME_COST_BYTES)
    message.moment = count_arrival(reactor.shared)
    push(&reactor.shared.to_control, message)
    return True


cdef void end_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Reactor thread only. Close after the unsent answers; nothing more is read."""
    connection.is_ending, connection.ending, connection.ending_ms = True, ending, reactor.now_ms


cdef bint take_frame(Reactor *reactor, Connection *connection, uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Answer or hand over one frame; False where it must wait."""
    if load(&reactor.shared.hosts.cost_ns[REQUESTS]) and not may_ask(reactor, connection):
        return refuse(reactor, connection, frame, size) or hand_over(
            reactor, connection, frame, header_end(frame, size), True
        )
    connection.is_let_through = False
    if answer(reactor, connection, frame, size, False) or hand_over(reactor, connection, frame, size, False):
        return True
    connection.is_let_through = True
    return False


cdef void take_frames(Reactor *reactor, Connection *connection, uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Answer or hand over whole frames, as many as the connection may; keep the rest as input."""
    cdef size_t at = 0
    cdef int64_t length
    cdef int frames = 0
    if connection.is_detecting and size >= DETECTION_BYTES:
        connection.is_detecting = False
    connection.has_frames = False
    reactor.turn_bytes = 0
    if connection.access_generation != load(&reactor.shared.policy.generation) and not admit(
        &reactor.shared.policy, &reactor.known_policy, connection
    ):
        end_connection(reactor, connection, STRANGER)
    while not connection.is_detecting and not must_wait(reactor, connection):
        length = frame_size(data + at, size - at, reactor.shared.limits.frame_bytes_max)
        if length == NEED_MORE:
            break
        if length == MALFORMED:
            end_connection(reactor, connection, MALFORMED_FRAME)
            break
        if frames == TURN_FRAMES_MAX or reactor.turn_bytes >= TURN_BYTES_MAX:
            connection.has_frames = True
            break
        frames += 1
        if not take_frame(reactor, connection, data + at, <size_t>length):
            break
        if connection.input == NULL and data != reactor.scratch_in:
            return  # the input was the frame, and is control's now
        at += <size_t>length
    if at:
        connection.moved[INPUT] += PROGRESS_BYTES  # what is kept belongs to another frame
    if not keep_input(connection, data + at, size - at):
        connection.is_failed = True


cdef void take_received(
    Reactor *reactor, Connection *connection, uint8_t *data, size_t have, size_t room, size_t received
) noexcept nogil:
    """Reactor thread only. Take the frames in ``have`` bytes and those that were received.

    These are behind ``data + have``; of a TLS connection they are in `scratch_received`, and their plain text has
    ``room`` there.
    """
    cdef Progress progress = WANTS_MORE
    cdef size_t came = received
    if connection.tls != NULL:
        progress = open_received(reactor, connection, received, data + have, room, &came)
    if data == connection.input:
        connection.input_size += came
    elif have:
        drop_input(connection)
    take_frames(reactor, connection, data, have + came)
    if progress == HAS_ENDED:
        end_connection(reactor, connection, PEER_CLOSED)
    elif progress == HAS_FAILED:
        end_connection(reactor, connection, TLS_FAILED)


cdef void take_records(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. The input is records, which came with the end of the handshake."""
    cdef size_t received = min(connection.input_size, <size_t>SCRATCH_BYTES - UNFINISHED_RECORD_MAX)
    memcpy(reactor.scratch_received, connection.input + connection.input_start, received)
    drop_input(connection)
    take_received(reactor, connection, reactor.scratch_in, 0, SCRATCH_BYTES, received)


cdef void receive(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. One `recv`, and the frames that it completes. The room for a frame grows as its bytes come.
    """
    cdef size_t spare = 0 if connection.tls == NULL else UNFINISHED_RECORD_MAX
    cdef size_t most = RECEIVED_AT_ONCE_MAX if connection.tls == NULL else RECORDS_BYTES_AT_ONCE_MAX
    cdef size_t have = connection.input_size, room = SCRATCH_BYTES - have, wanted
    cdef uint8_t *data = reactor.scratch_in
    cdef uint8_t *into
    cdef ssize_t got
    if 0 < have <= COPIED_INPUT_MAX:
        memcpy(data, connection.input + connection.input_start, have)
    elif have:
        wanted = LENGTH_BYTES + <size_t>read_uint32(connection.input + connection.input_start)
        wanted = wanted if wanted > have else have + SCRATCH_BYTES
        wanted = min(wanted, max(have * 2, <size_t>SCRATCH_BYTES))
        if not make_input_room(connection, wanted + spare):
            connection.is_failed = True
            return
        data, room = connection.input, min(wanted - have, <size_t>RECEIVED_AT_ONCE_MAX - spare) + spare
    into = data + have if connection.tls == NULL else reactor.scratch_received
    got = recv(connection.fd, into, min(room - spare, most), MSG_DONTWAIT)
    if got <= 0:
        if got == 0:
            connection.is_failed, connection.ending = True, PEER_CLOSED
        elif errno != EAGAIN and errno != EINTR:
            connection.is_failed = True
        return
    connection.active_ms = reactor.now_ms
    connection.moved[INPUT] += <uint32_t>got
    connection.moved[TLS] += <uint32_t>got
    take_received(reactor, connection, data, have, room, <size_t>got)


cdef void resume(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Go on with the waiting input, if the connection may."""
    if connection.input_size and not must_wait(reactor, connection):
        take_frames(reactor, connection, connection.input + connection.input_start, connection.input_size)


cdef void resume_stalled(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Let a few waiting connections hand over, the hosts by turns, while control has room."""
    cdef Connection *connection
    assert_reactor(reactor, "resume_stalled")
    for _ in range(RESUMED_AT_ONCE_MAX):
        if reactor.waiting.waiting == 0 or is_crowded(reactor):
            reactor.may_resume = False
            return
        connection = <Connection *>take_turn(reactor.waiting, 1)
        reactor.is_resuming = True
        resume(reactor, connection)
        reactor.is_resuming = False
        finish_turn(reactor, connection)


cdef void answer_deferred(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Answer the deferred lookups that are due. Where reactors may not answer such a lookup any
    more, control does."""
    cdef Connection *connection
    cdef Deferred due
    while next_due(reactor, &due):
        connection = find_connection(reactor, due.connection)
        if connection != NULL and not connection.is_ending:
            if connection.access_generation != load(&reactor.shared.policy.generation) or not answer(
                reactor, connection, due.frame, due.size, True
            ):
                send_to_control(reactor, connection, due.frame, due.size, False)
            finish_turn(reactor, connection)
        free(due.frame)


cdef void report_taken(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Control parks the connection's requests until it takes this message."""
    cdef Message *message = new_message(TAKEN, id_of(reactor, connection))
    if message == NULL:
        connection.is_failed = True
        return
    connection.is_awaited = False
    message.queued.host = connection.host
    push(&reactor.shared.to_control, message)


cdef void finish_turn(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send what was written and ask for the next events; or close the connection.

    The connection may be gone afterwards.
    """
    cdef Shared *shared = reactor.shared
    cdef epoll_event event
    cdef uint32_t wanted = 0
    cdef int kind
    assert_reactor(reactor, "finish_turn")
    if reactor.out_size:
        send_scratch(reactor, connection)
    # The memory before the input and the output counts too.
    count_held(&reactor.holders[INPUT], INPUT, connection, input_memory(connection), reactor.now_ms)
    count_held(&reactor.holders[OUTPUT], OUTPUT, connection, connection.output_end, reactor.now_ms)
    if connection.tls != NULL:
        count_held(&reactor.holders[TLS], TLS, connection, TLS_BYTES, reactor.now_ms)
    if connection.is_awaited and unsent(connection) <= shared.limits.high_water_bytes:
        report_taken(reactor, connection)
    if unsent(connection) > shared.limits.outgoing_bytes_max:
        connection.is_failed, connection.ending = True, TOO_MUCH_UNSENT
    if connection.is_failed or (connection.is_ending and unsent(connection) == 0):
        if not connection.is_failed:
            send_end(reactor, connection)
        close_connection(reactor, connection, connection.ending)
        return
    if not must_wait(reactor, connection):
        # With frames left, more of them would only wake the loop again and again while the peer reads no answers.
        wanted = EPOLLOUT if connection.has_frames else EPOLLIN
    if unsent(connection):
        wanted |= EPOLLOUT
    if wanted != connection.armed:
        if wanted & EPOLLIN and not connection.armed & EPOLLIN and connection.held[INPUT]:
            # Its peer was kept waiting.
            note_progress(&reactor.holders[INPUT], INPUT, connection, reactor.now_ms)
        event.events, event.data.u64 = wanted, id_of(reactor, connection)
        epoll_ctl(reactor.epoll_fd, EPOLL_CTL_MOD, connection.fd, &event)
        connection.armed = wanted
    for kind in range(KINDS):
        if excess(shared, kind) > 0:
            connection = relieve(reactor, kind, connection if kind != TLS else NULL)

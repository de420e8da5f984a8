"""A connection's turn: bytes in, whole frames answered or handed over, answers out, and every limit kept.

A connection gets bounded work in a turn. One with an unanswered request at control has all further ones handed over
too, so that its requests take effect in their order.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from rocketns._fast.reactor.answers cimport answer, send_scratch
from rocketns._fast.system.atomics cimport add, load
from rocketns._fast.connections.connection cimport drop_input, keep_input, make_input_room, unsent
from rocketns._fast.connections.holders cimport INPUT, OUTPUT, hold
from rocketns._fast.connections.messages cimport (
    FRAME,
    MALFORMED_FRAME,
    PEER_CLOSED,
    TAKEN,
    TOO_MUCH_UNSENT,
    Message,
    new_message,
    push,
)
from rocketns._fast.reactor.connection_table cimport close_connection
from rocketns._fast.reactor.reactor_state cimport FRAME_COST_BYTES, SCRATCH_BYTES, Shared, id_of, must_wait
from rocketns._fast.reactor.shedding cimport relieve
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_MOD,
    EPOLLIN,
    EPOLLOUT,
    MSG_DONTWAIT,
    epoll_ctl,
    epoll_event,
    recv,
)
from rocketns._fast.reactor.stalls cimport is_crowded, stall, unstall
from rocketns._fast.codec.wire cimport MALFORMED, NEED_MORE, frame_size, read_uint32

cdef enum:
    # What other connections wait for in a turn: frames, and bytes of answers and of frames for control.
    TURN_FRAMES_MAX = 256
    TURN_BYTES_MAX = 256 * 1024
    RECEIVED_AT_ONCE_MAX = 128 * 1024
    COPIED_INPUT_MAX = 4096  # so much that waits is received behind in the scratch, so that no room is kept for it
    FIRST_FRAME_BYTES_MAX = 256 * 1024
    RESUMED_AT_ONCE_MAX = 64


cdef bint may_hand_over(Reactor *reactor, Connection *connection, size_t size) noexcept nogil:
    """Whether control takes a frame now. Of a connection that has none there it takes one, whatever others sent."""
    cdef int64_t queued = load(&reactor.shared.queued_bytes)
    if (
        connection.in_flight == 0
        and size <= FIRST_FRAME_BYTES_MAX
        and queued <= reactor.shared.limits.first_frames_bytes_max
    ):
        return True
    if reactor.first_stalled != NULL and not reactor.is_resuming:
        return False  # others wait already
    return not is_crowded(reactor)


cdef bint hand_over(Reactor *reactor, Connection *connection, uint8_t *frame, size_t size) noexcept nogil:
    """Give a frame to control; False where it must wait. Takes the input buffer if it can."""
    cdef Message *message
    cdef bint is_whole_input = frame == connection.input and size == connection.input_size
    if not may_hand_over(reactor, connection, size):
        stall(reactor, connection)
        return False
    message = new_message(FRAME, id_of(reactor, connection))
    if message != NULL:
        message.data = frame if is_whole_input else <uint8_t *>malloc(size)
    if message == NULL or message.data == NULL:
        free(message)
        connection.is_failed = True
        return False
    if is_whole_input:
        connection.input = NULL
        connection.input_start = connection.input_size = connection.input_room = 0
    else:
        memcpy(message.data, frame, size)
    message.size = size
    connection.in_flight += 1
    reactor.turn_bytes += size
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
    reactor.turn_bytes = 0
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
    cdef size_t have = connection.input_size, room = SCRATCH_BYTES - have, wanted
    cdef uint8_t *data = reactor.scratch_in
    cdef ssize_t got
    if 0 < have <= COPIED_INPUT_MAX:
        memcpy(data, connection.input + connection.input_start, have)
    elif have:
        wanted = 4 + <size_t>read_uint32(connection.input + connection.input_start)
        wanted = wanted if wanted > have else have + SCRATCH_BYTES
        wanted = min(wanted, max(have * 2, <size_t>SCRATCH_BYTES))
        if not make_input_room(connection, wanted):
            connection.is_failed = True
            return
        data, room = connection.input, min(wanted - have, <size_t>RECEIVED_AT_ONCE_MAX)
    got = recv(connection.fd, data + have, room, MSG_DONTWAIT)
    if got <= 0:
        if got == 0:
            connection.is_failed, connection.ending = True, PEER_CLOSED
        elif errno != EAGAIN and errno != EINTR:
            connection.is_failed = True
        return
    connection.active_ms = reactor.now_ms
    if data == connection.input:
        connection.input_size += <size_t>got
    elif have:
        drop_input(connection)
    take_frames(reactor, connection, data, have + <size_t>got)


cdef void resume(Reactor *reactor, Connection *connection) noexcept nogil:
    if connection.input_size and not must_wait(reactor, connection):
        take_frames(reactor, connection, connection.input + connection.input_start, connection.input_size)


cdef void resume_stalled(Reactor *reactor) noexcept nogil:
    """Let a few that wait hand over, who waited longest first, as long as control has room."""
    cdef Connection *connection
    for _ in range(RESUMED_AT_ONCE_MAX):
        connection = reactor.first_stalled
        if connection == NULL or is_crowded(reactor):
            reactor.may_resume = False
            return
        unstall(reactor, connection)
        reactor.is_resuming = True
        resume(reactor, connection)
        reactor.is_resuming = False
        finish_turn(reactor, connection)


cdef inline void count_held(Reactor *reactor, Connection *connection, int kind, size_t size) noexcept nogil:
    if size != connection.held[kind]:
        add(&reactor.shared.held_bytes[kind], <int64_t>size - <int64_t>connection.held[kind])
        connection.held[kind] = size
        if not hold(&reactor.holders[kind], kind, connection, size):
            connection.is_failed = True


cdef void report_taken(Reactor *reactor, Connection *connection) noexcept nogil:
    """Control waits for that before it answers more of the connection's requests."""
    cdef Message *message = new_message(TAKEN, id_of(reactor, connection))
    if message == NULL:
        connection.is_failed = True
        return
    connection.is_awaited = False
    push(&reactor.shared.to_control, message)


cdef void finish_turn(Reactor *reactor, Connection *connection) noexcept nogil:
    """Send what was written, and wait for what the connection may do next; or close it."""
    cdef Shared *shared = reactor.shared
    cdef epoll_event event
    cdef uint32_t wanted = 0
    cdef int kind
    if reactor.out_size:
        send_scratch(reactor, connection)
    # What lies before the input and the output takes memory as well.
    count_held(reactor, connection, INPUT, connection.input_start + connection.input_size)
    count_held(reactor, connection, OUTPUT, connection.output_end)
    if connection.is_awaited and unsent(connection) <= shared.limits.high_water_bytes:
        report_taken(reactor, connection)
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
    for kind in range(2):
        if load(&shared.held_bytes[kind]) > shared.limits.held_bytes_max[kind]:
            relieve(reactor, kind)

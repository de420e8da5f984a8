"""A connection's turn: bytes in, whole frames answered or handed over, answers out, and every limit kept.

A connection gets bounded work in a turn. One with an unanswered request at control has all further ones handed over
too, so that its requests take effect in their order.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from rocketns._fast.answers cimport answer, send_scratch
from rocketns._fast.atomics cimport add, load, store
from rocketns._fast.connection cimport keep_input, make_input_room, unsent
from rocketns._fast.messages cimport (
    FRAME,
    MALFORMED_FRAME,
    PEER_CLOSED,
    TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT,
    Message,
    new_message,
    push,
)
from rocketns._fast.places cimport close_connection
from rocketns._fast.reactor_state cimport FRAME_COST_BYTES, SCRATCH_BYTES, Shared, id_of, must_wait
from rocketns._fast.sockets cimport (
    EPOLL_CTL_MOD,
    EPOLLIN,
    EPOLLOUT,
    MSG_DONTWAIT,
    epoll_ctl,
    epoll_event,
    recv,
)
from rocketns._fast.wire cimport MALFORMED, NEED_MORE, frame_size, read_uint32

cdef enum:
    TURN_FRAMES_MAX = 256
    RECEIVED_AT_ONCE_MAX = 128 * 1024  # look-ups of other connections wait for no more than this


cdef bint hand_over(Reactor *reactor, Connection *connection, uint8_t *frame, size_t size) noexcept nogil:
    """Give a frame to control; False where control has too many bytes waiting. Takes the input buffer if it can.

    One frame of a connection may always wait there, so that no connection waits for the many of another.
    """
    cdef Message *message
    cdef bint is_whole_input = frame == connection.input and size == connection.input_size
    cdef int64_t waiting_max = reactor.shared.limits.queued_bytes_max
    if connection.in_flight == 0:
        waiting_max = reactor.shared.limits.incoming_bytes_max
    if load(&reactor.shared.queued_bytes) > waiting_max:
        connection.is_stalled = True
        store(&reactor.shared.stalled, 1)
        if load(&reactor.shared.queued_bytes) > waiting_max:
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

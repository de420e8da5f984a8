"""How a connection goes from one reactor to another.

Only a connection at rest moves: no request of it waits at control, and the reactor holds no byte of it. It keeps all it
has except its number and what its reactor learnt of its requests. The new reactor tells control the new number, MOVED,
before it hands any frame over, and both go through the same queue. What control sends to the old number meanwhile finds
nobody; it can only be END or ABORT, and control repeats them when it learns the new number.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from rocketns._fast.system.atomics cimport add
from rocketns._fast.connections.connection cimport Connection, unsent
from rocketns._fast.connections.holders cimport INPUT, OUTPUT
from rocketns._fast.connections.messages cimport FAILED, MOVE, MOVED, Message, free_message, new_message, push
from rocketns._fast.reactor.connection_table cimport insert_connection, release_connection, remove_connection
from rocketns._fast.reactor.reactor_state cimport id_of
from rocketns._fast.system.sockets cimport EPOLL_CTL_DEL, EPOLLIN, epoll_ctl

cdef enum:
    MOVED_AT_ONCE_MAX = 512  # look-ups of the others wait 2 ms for that


cdef bint is_at_rest(const Connection *connection) noexcept nogil:
    return (
        connection.in_flight == 0
        and connection.input_size == 0
        and unsent(connection) == 0
        and connection.heap_index[INPUT] == 0
        and connection.heap_index[OUTPUT] == 0
        and connection.armed == EPOLLIN
        and not connection.is_ending
        and not connection.is_failed
        and not connection.is_stalled
        and not connection.is_awaited
        and not connection.has_frames
    )


cdef bint may_move(const Reactor *reactor, const Connection *connection, int64_t recent_ms) noexcept nogil:
    """With ``recent_ms`` only connections that had a byte since then: the others make no work."""
    if connection == NULL or not is_at_rest(connection):
        return False
    return recent_ms == 0 or reactor.now_ms - connection.active_ms <= recent_ms


cdef bint move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil:
    """False where there is no memory."""
    cdef Message *message = new_message(MOVE, id_of(reactor, connection))
    if message == NULL:
        return False
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL)
    remove_connection(reactor, connection)
    message.data = <uint8_t *>connection
    add(&target.messages_sent, 1)
    push(&target.inbox, message)
    return True


cdef void give(Reactor *reactor, const Message *order) noexcept nogil:
    """Move ``order.number`` thousandths of the connections that may move, at most MOVED_AT_ONCE_MAX.

    ``order.moment``: see `may_move`. Each time begins where the last one ended, so no connection moves more than others.
    """
    cdef Reactor *target = reactor.shared.reactors[order.connection]
    cdef uint32_t count = reactor.table_count, found = 0, each, place
    cdef int64_t wanted
    for place in range(count):
        found += may_move(reactor, reactor.connections[place], order.moment)
    wanted = min(<int64_t>found * order.number // 1000, <int64_t>MOVED_AT_ONCE_MAX)
    for each in range(count):
        if wanted == 0:
            return
        place = reactor.next_given % count
        reactor.next_given = place + 1
        if may_move(reactor, reactor.connections[place], order.moment):
            if not move(reactor, reactor.connections[place], target):
                return
            wanted -= 1


cdef void take_moving(Reactor *reactor, Message *message) noexcept nogil:
    """Carry the connection on. Control learns its new number where it knows it: from its first byte on."""
    cdef Connection *connection = <Connection *>message.data
    message.data = NULL
    connection.layout, connection.layouts_learnt = 0, 0
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, FAILED)
        free_message(message)
    elif connection.close_notice == NULL:
        free_message(message)
    else:
        connection.close_notice.connection = id_of(reactor, connection)
        message.kind, message.moment = MOVED, <int64_t>connection.close_notice.connection
        push(&reactor.shared.to_control, message)


cdef void drop_moving(Reactor *reactor, Message *message) noexcept nogil:
    """The reactor ended before it took the connection."""
    release_connection(reactor.shared, <Connection *>message.data, FAILED)
    message.data = NULL
    free_message(message)

"""How a connection goes from one reactor to another.

Only a connection at rest moves: none of its requests waits at control, and the reactor holds none of its bytes. It
keeps everything but its id and what its reactor learnt of its requests.

Three orders matter. The old reactor stops its epoll events and takes the connection off its table before it pushes the
MOVE, so only one thread ever works on it. The new reactor pushes MOVED before any frame of the connection, to the same
queue, so control knows the id of each frame. What control sends to the old id meanwhile is dropped: that can only be
END or ABORT, since no request waits, and control repeats them when it takes MOVED.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from rocketns._fast.connections.connection cimport INPUT, OUTPUT, Connection, unsent
from rocketns._fast.connections.messages cimport FAILED, MOVED, Message, free_message, push
from rocketns._fast.access.policy cimport know_policy
from rocketns._fast.access.peers cimport Peer
from rocketns._fast.connections.hosts cimport ADDRESS_ROOM, write_peer
from rocketns._fast.reactor.connection_table cimport insert_connection, move, release_connection, report_opened
from rocketns._fast.reactor.reactor_state cimport assert_reactor, id_of
from rocketns._fast.reactor.turns cimport finish_turn, resume, take_records
from rocketns._fast.system.sockets cimport EPOLLIN

cdef enum:
    MOVED_AT_ONCE_MAX = 512  # the reactor's other connections wait 2 ms for that


cdef bint is_at_rest(const Connection *connection) noexcept nogil:
    """Reactor thread only."""
    return (
        connection.in_flight == 0
        and connection.input_size == 0
        and unsent(connection) == 0
        and connection.held[INPUT] == 0
        and connection.held[OUTPUT] == 0
        and connection.armed == EPOLLIN
        and not connection.is_ending
        and not connection.is_failed
        and not connection.is_stalled
        and not connection.is_awaited
        and not connection.has_frames
    )


cdef bint may_move(const Reactor *reactor, const Connection *connection, int64_t recent_ms) noexcept nogil:
    """Reactor thread only. With ``recent_ms`` only connections with a byte within that time: others make no work."""
    if connection == NULL or not is_at_rest(connection):
        return False
    return recent_ms == 0 or reactor.now_ms - connection.active_ms <= recent_ms


cdef void give(Reactor *reactor, const Message *message) noexcept nogil:
    """Reactor thread only. Move ``message.number`` thousandths of the connections that may move, at most
    MOVED_AT_ONCE_MAX, to the reactor ``message.connection``.

    ``message.moment`` is `may_move`'s ``recent_ms``. Each call begins where the last one ended, so all connections move
    equally often.
    """
    cdef Reactor *target = reactor.shared.reactors[message.connection]
    cdef uint32_t count = reactor.table_count, found = 0, each, index
    cdef int64_t wanted
    assert_reactor(reactor, "give")
    for index in range(count):
        found += may_move(reactor, reactor.connections[index], message.moment)
    wanted = min(<int64_t>found * message.number // 1000, <int64_t>MOVED_AT_ONCE_MAX)
    for each in range(count):
        if wanted == 0:
            return
        index = reactor.next_given % count
        reactor.next_given = index + 1
        if may_move(reactor, reactor.connections[index], message.moment):
            if not move(reactor, reactor.connections[index], target):
                return
            wanted -= 1


cdef void begin(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Control hears of a connection whose first bytes the handshake thread has read.

    Its input is what came behind: records if it has TLS.
    """
    cdef char socket_address[ADDRESS_ROOM]
    cdef Peer ignored
    write_peer(connection.fd, socket_address, &ignored)
    if not report_opened(reactor, connection, socket_address):
        connection.is_failed = True
    elif connection.tls == NULL:
        resume(reactor, connection)
    elif connection.input_size:
        take_records(reactor, connection)
    finish_turn(reactor, connection)


cdef void take_moving(Reactor *reactor, Message *message) noexcept nogil:
    """Reactor thread only. Carry the connection on, and tell control its new id if control knows the connection.

    Control knows a connection that has a close notice. Others come from the handshake thread: see `begin`.
    """
    cdef Connection *connection = <Connection *>message.data
    message.data = NULL
    connection.layout, connection.layouts_learnt = 0, 0
    # The connection may have been judged by a policy that this reactor has not seen.
    know_policy(&reactor.shared.policy, &reactor.known_policy)
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, FAILED)
        free_message(message)
    elif connection.close_notice == NULL:
        free_message(message)
        begin(reactor, connection)
    else:
        connection.close_notice.connection = id_of(reactor, connection)
        message.kind, message.moment = MOVED, <int64_t>connection.close_notice.connection
        push(&reactor.shared.to_control, message)


cdef void drop_moving(Reactor *reactor, Message *message) noexcept nogil:
    """Control only, after the reactor's thread ended: the connection was not taken."""
    release_connection(reactor.shared, <Connection *>message.data, FAILED)
    message.data = NULL
    free_message(message)

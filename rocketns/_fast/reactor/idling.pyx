"""Closing connections that are idle or make no progress.

The whole connection table is checked, a part of it in each round of the loop. All functions are for the reactor's thread.
"""

from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport CARRIED, INPUT, OUTPUT, WITHOUT_CONTEXT, Connection
from rocketns._fast.connections.messages cimport IDLE, PEER_CLOSED, STALLED_ANSWERS, STALLED_FRAME, STALLED_HANDSHAKE
from rocketns._fast.reactor.accepting cimport listen_again
from rocketns._fast.reactor.connection_table cimport close_connection, refuse_connection
from rocketns._fast.system.sockets cimport EPOLLIN, EPOLLOUT

cdef enum:
    # In one round of the loop.
    CHECKED_AT_ONCE_MAX = 4096
    CLOSED_AT_ONCE_MAX = 64


cdef inline int stalled(const Reactor *reactor, const Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. STALLED_FRAME where too little of an unfinished frame came, STALLED_ANSWERS where too little
    of the answers was taken; else PEER_CLOSED. A peer whose input is not read is not to blame for its frame, unless it
    reads no answers."""
    cdef uint32_t blamed = EPOLLIN | EPOLLOUT if connection.has_frames else EPOLLIN
    cdef int64_t since_ms = now_ms - reactor.shared.limits.progress_ms_max
    if reactor.shared.limits.progress_ms_max == 0:
        return PEER_CLOSED
    if connection.held[OUTPUT] and connection.progress_ms[OUTPUT] <= since_ms:
        return STALLED_ANSWERS
    if connection.held[INPUT] and connection.progress_ms[INPUT] <= since_ms and connection.armed & blamed:
        return STALLED_FRAME
    return PEER_CLOSED


cdef bint is_late(const Reactor *reactor, const Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Whether its handshake takes too long. Nobody is late while control makes the context."""
    cdef int64_t most_ms = reactor.shared.limits.handshake_ms_max
    if connection.stage == CARRIED or connection.stage == WITHOUT_CONTEXT or most_ms == 0:
        return False
    return now_ms - connection.began_ms >= most_ms


cdef bint close_if_idle(Reactor *reactor, Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Close it if no byte came for its limit, if it makes no progress, or if it could not finish
    closing for a round."""
    cdef int ending
    if connection.is_ending:
        if connection.ending_ms >= now_ms:
            return False
        close_connection(reactor, connection, connection.ending)
        return True
    if is_late(reactor, connection, now_ms):
        refuse_connection(reactor, connection, STALLED_HANDSHAKE, b"")
        return True
    ending = IDLE if 0 < connection.idle_ms_max <= now_ms - connection.active_ms else stalled(reactor, connection, now_ms)
    if ending != PEER_CLOSED and connection.stage != CARRIED:
        refuse_connection(reactor, connection, ending, b"")
    elif ending != PEER_CLOSED:
        close_connection(reactor, connection, ending)
    return ending != PEER_CLOSED


cdef void close_some_idle(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Check some of the connections that are still to be checked."""
    cdef int closed = 0
    for _ in range(CHECKED_AT_ONCE_MAX):
        if reactor.idle_left == 0 or closed == CLOSED_AT_ONCE_MAX:
            return
        reactor.idle_left -= 1
        if reactor.connections[reactor.idle_left] != NULL:
            closed += close_if_idle(reactor, reactor.connections[reactor.idle_left], reactor.idle_at_ms)


cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Begin to check all connections; a check under way goes on where it is."""
    reactor.idle_at_ms = now_ms
    if reactor.idle_left == 0:
        reactor.idle_left = reactor.table_count
    close_some_idle(reactor)
    if not reactor.is_accepting and reactor.listeners:
        listen_again(reactor, True)

"""Closing idle connections: a check of the whole connection table, a part of it in each round of the loop.

All functions are for the reactor's thread.
"""

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.messages cimport IDLE
from rocketns._fast.reactor.accepting cimport listen_again
from rocketns._fast.reactor.connection_table cimport close_connection

cdef enum:
    # In one round of the loop.
    CHECKED_AT_ONCE_MAX = 4096
    CLOSED_AT_ONCE_MAX = 64


cdef bint close_if_idle(Reactor *reactor, Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Close it if no byte came for its limit, or if it could not finish closing for a round."""
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
    if not reactor.is_accepting and reactor.listen_fd >= 0:
        listen_again(reactor, True)

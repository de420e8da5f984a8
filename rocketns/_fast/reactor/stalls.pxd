"""Connections that wait for control to catch up, in the order in which they began to wait."""

from rocketns._fast.system.atomics cimport load, store
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor


cdef inline void stall(Reactor *reactor, Connection *connection) noexcept nogil:
    """The connection waits behind the others."""
    connection.is_stalled = True
    connection.next_stalled, connection.previous_stalled = NULL, reactor.last_stalled
    if reactor.last_stalled == NULL:
        reactor.first_stalled = connection
    else:
        reactor.last_stalled.next_stalled = connection
    reactor.last_stalled = connection


cdef inline void unstall(Reactor *reactor, Connection *connection) noexcept nogil:
    connection.is_stalled = False
    if connection.previous_stalled == NULL:
        reactor.first_stalled = connection.next_stalled
    else:
        connection.previous_stalled.next_stalled = connection.next_stalled
    if connection.next_stalled == NULL:
        reactor.last_stalled = connection.previous_stalled
    else:
        connection.next_stalled.previous_stalled = connection.previous_stalled
    connection.next_stalled = connection.previous_stalled = NULL


cdef inline bint is_crowded(Reactor *reactor) noexcept nogil:
    """Whether control has too many bytes waiting. Where it has, it tells the reactors when it caught up (RESUME)."""
    if load(&reactor.shared.queued_bytes) <= reactor.shared.limits.queued_bytes_max:
        return False
    store(&reactor.shared.stalled, 1)
    # Looked at again: control may have caught up just before, and not have seen that somebody waits.
    return load(&reactor.shared.queued_bytes) > reactor.shared.limits.queued_bytes_max

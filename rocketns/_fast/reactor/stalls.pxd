"""Connections that wait for control to catch up, in the order in which they began to wait.

All functions are for the reactor's thread.
"""

from rocketns._fast.system.atomics cimport load, store
from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor


cdef inline void stall(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. The connection waits behind the others."""
    connection.is_stalled = True
    connection.next_stalled, connection.previous_stalled = NULL, reactor.last_stalled
    if reactor.last_stalled == NULL:
        reactor.first_stalled = connection
    else:
        reactor.last_stalled.next_stalled = connection
    reactor.last_stalled = connection


cdef inline void unstall(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. The connection no longer waits."""
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

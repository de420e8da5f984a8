"""Whose handshake is continued next: hosts take turns, and so do the connections of a host.

A handshake costs the server up to a millisecond, and its peer nothing. All functions are for the handshake thread.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint16_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.holders cimport HOSTS
from rocketns._fast.reactor.reactor_state cimport Turns


cdef inline void want_turn(Turns *turns, Connection *connection) noexcept nogil:
    """Append it to its host's connections, unless it waits already."""
    cdef size_t host = connection.host
    if connection.is_stalled:
        return
    connection.is_stalled = True
    connection.next_stalled, connection.previous_stalled = NULL, turns.last[host]
    if turns.last[host] == NULL:
        turns.first[host] = connection
    else:
        turns.last[host].next_stalled = connection
    turns.last[host] = connection
    if not turns.is_waiting[host]:
        turns.is_waiting[host] = True
        turns.ring[(turns.ring_start + turns.ring_size) % HOSTS] = <uint16_t>host
        turns.ring_size += 1


cdef inline void leave_turns(Turns *turns, Connection *connection) noexcept nogil:
    """It no longer waits. Its host stays in the ring."""
    cdef size_t host = connection.host
    if not connection.is_stalled:
        return
    connection.is_stalled = False
    if connection.previous_stalled == NULL:
        turns.first[host] = connection.next_stalled
    else:
        connection.previous_stalled.next_stalled = connection.next_stalled
    if connection.next_stalled == NULL:
        turns.last[host] = connection.previous_stalled
    else:
        connection.next_stalled.previous_stalled = connection.previous_stalled
    connection.next_stalled = connection.previous_stalled = NULL


cdef inline Connection *take_turn(Turns *turns) noexcept nogil:
    """The first connection of the next host; NULL if nobody waits."""
    cdef Connection *connection
    cdef uint16_t host
    while turns.ring_size:
        host = turns.ring[turns.ring_start]
        turns.ring_start = (turns.ring_start + 1) % HOSTS
        turns.ring_size -= 1
        turns.is_waiting[host] = False
        connection = turns.first[host]
        if connection != NULL:
            leave_turns(turns, connection)
            if turns.first[host] != NULL:
                turns.is_waiting[host] = True
                turns.ring[(turns.ring_start + turns.ring_size) % HOSTS] = host
                turns.ring_size += 1
            return connection
    return NULL

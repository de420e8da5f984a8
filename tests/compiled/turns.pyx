"""Whose handshake is next, without connections."""

from libc.stdlib cimport calloc, free

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.hosts cimport HostRing, join_ring, leave_ring, take_turn

cdef class Waiting:
    """Connections by their numbers; each is of a host, which is a number too."""

    cdef HostRing *turns
    cdef dict numbers  # by address
    cdef dict addresses

    def __cinit__(self):
        self.turns = <HostRing *>calloc(1, sizeof(HostRing))
        self.numbers, self.addresses = {}, {}

    def __dealloc__(self):
        for address in self.numbers:
            free(<void *><size_t>address)
        free(self.turns)

    def want(self, int number, int host):
        """A connection wants a turn. It keeps its first host."""
        cdef Connection *connection
        if number in self.addresses:
            connection = <Connection *><size_t>self.addresses[number]
        else:
            connection = <Connection *>calloc(1, sizeof(Connection))
            connection.host = host
            self.addresses[number] = <size_t>connection
            self.numbers[<size_t>connection] = number
        join_ring(self.turns, &connection.queued, connection.host)

    def leave(self, int number):
        leave_ring(self.turns, &(<Connection *><size_t>self.addresses[number]).queued)

    def take(self):
        """The number of the next one; None if nobody waits."""
        cdef Connection *connection = <Connection *>take_turn(self.turns, 1)
        return None if connection == NULL else self.numbers[<size_t>connection]

"""Whose handshake is next, and whose tokens are left, without connections."""

from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport calloc, free

from rocketns._fast.access.networks cimport Peer, read_ip
from rocketns._fast.connections.hosts cimport (
    CONNECTIONS, OF_BROKERS, OF_CONNECTIONS, OF_STRANGERS, REQUESTS, HostTable, claim_host, release_host, spend_token
)
from rocketns._fast.connections.messages cimport HostRing, Message, join_ring, leave_ring, next_turn
from rocketns._fast.system.threads cimport load

from rocketns.addresses import unpacked


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
        cdef Message *message
        if number in self.addresses:
            message = <Message *><size_t>self.addresses[number]
        else:
            message = <Message *>calloc(1, sizeof(Message))
            message.host = host
            self.addresses[number] = <size_t>message
            self.numbers[<size_t>message] = number
        join_ring(self.turns, message)

    def leave(self, int number):
        leave_ring(self.turns, <Message *><size_t>self.addresses[number])

    def take(self):
        """The number of the next one; None if nobody waits."""
        cdef Message *message = next_turn(self.turns, 1)
        return None if message == NULL else self.numbers[<size_t>message]


cdef class LimitedHosts(HostTable):
    """The tokens of hosts, which reactors take."""

    def may_ask(self, str host not None, bint is_broker, int64_t now_ms):
        return self.spend(host, OF_BROKERS if is_broker else OF_STRANGERS, REQUESTS, now_ms)

    def claim(self, str host not None):
        """The number of an IP address. It is not released."""
        cdef bytes text = host.encode("ascii")
        cdef Peer peer
        read_ip(text, len(text), &peer)
        assert peer.has_address
        return claim_host(&self.table, peer.address)

    def may_connect(self, str host not None, int64_t now_ms):
        return self.spend(host, OF_CONNECTIONS, CONNECTIONS, now_ms)

    def drain_refused(self):
        return [(unpacked(host), *counts) for host, *counts in HostTable.drain_refused(self)]

    cdef bint spend(self, str host, int bucket, int limited, int64_t now_ms) except -1:
        cdef uint16_t number = self.claim(host)
        release_host(&self.table, number)
        return not load(&self.table.cost_ns[limited]) or spend_token(&self.table, number, bucket, now_ms)

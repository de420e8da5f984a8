"""How many bytes each connection of a reactor holds, and which connection holds the most."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport Connection

# Kinds of bytes: input that is not worked off, and answers that the peer has not taken.
cdef enum:
    INPUT = 0
    OUTPUT = 1

cdef struct Holder:
    size_t bytes
    Connection *connection

# A heap with the largest first. Its reactor alone reads and writes it, but for `largest`.
cdef struct Holders:
    Holder *heap
    uint32_t count
    uint32_t room
    int64_t largest  # the bytes of heap[0]. Atomic: this reactor writes it, any thread reads it

cdef bint hold(Holders *holders, int kind, Connection *connection, size_t size) noexcept nogil

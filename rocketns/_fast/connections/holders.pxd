"""What a reactor's connections hold in memory, and which of them holds the most."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport Connection

# Kinds of bytes: of input that is not worked off, and of answers that are not taken.
cdef enum:
    INPUT = 0
    OUTPUT = 1

cdef struct Holder:
    size_t bytes
    Connection *connection

# A heap with the largest first. ``largest`` is its bytes, and any thread may read it.
cdef struct Holders:
    Holder *heap
    uint32_t count
    uint32_t room
    int64_t largest

cdef bint hold(Holders *holders, int kind, Connection *connection, size_t size) noexcept nogil

"""Digests of the routes: two processes with the same queues have the same numbers. Control only."""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t

from rocketns._fast.routes.slots cimport Slot

cdef enum:
    BUCKETS = 256

# For each bucket the sum of what its topics contribute.
cdef struct Buckets:
    uint64_t sums[BUCKETS]

cdef void change_digest(Buckets *buckets, Slot *slot, uint64_t added) noexcept nogil
cdef uint64_t name_hash(const Slot *slot) noexcept nogil
cdef size_t bucket_of(uint64_t name) noexcept nogil

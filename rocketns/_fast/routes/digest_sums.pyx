"""Digests of the routes: two processes with the same queues have the same numbers. Control only.

An element of queueDatas has a digest, the first 8 bytes of BLAKE2b of its JSON. A topic's digest is the sum of its
elements' digests, so no order matters; rocketns/fleet/digests.py computes the same from another server's answer. A hash
of its name puts a topic into one of 256 buckets, and a bucket's digest is the sum of the hashes of its topics' names
and digests. All sums are kept with every change, so reading them costs no walk through the tables.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from rocketns._fast.routes.slots cimport Slot
from rocketns._fast.system.hashing cimport siphash

# The hash is not keyed: all processes must agree. Who registers topics may choose which are in one bucket.
cdef enum:
    NAME_KEY = 1
    TOPIC_KEY = 2


cdef uint64_t name_hash(const Slot *slot) noexcept nogil:
    return siphash(slot.key, slot.key_length, NAME_KEY, NAME_KEY)


cdef size_t bucket_of(uint64_t name) noexcept nogil:
    return name >> 56


cdef inline uint64_t contribution(uint64_t name, uint64_t digest) noexcept nogil:
    """What a topic adds to its bucket; a topic without queues adds nothing."""
    cdef uint64_t words[2]
    if digest == 0:
        return 0
    words[0], words[1] = name, digest
    return siphash(<const uint8_t *>words, sizeof(words), TOPIC_KEY, TOPIC_KEY)


cdef void change_digest(Buckets *buckets, Slot *slot, uint64_t added) noexcept nogil:
    """Add to a topic's digest, modulo 2^64."""
    cdef uint64_t name
    if added == 0:
        return
    name = name_hash(slot)
    buckets.sums[bucket_of(name)] -= contribution(name, slot.digest)
    slot.digest += added
    buckets.sums[bucket_of(name)] += contribution(name, slot.digest)

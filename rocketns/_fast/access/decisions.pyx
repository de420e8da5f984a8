"""The table of decisions in memory, and what control puts into it."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from rocketns._fast.system.atomics cimport load, store

cdef extern from "<stdlib.h>" nogil:
    int posix_memalign(void **memory, size_t alignment, size_t size)


cdef Decisions *new_decisions() noexcept nogil:
    """Control only. An empty table, whose buckets are cache lines; NULL where there is no memory. `free` frees it.

    An empty place has two words of 0. No lookup is expected to have that digest before one with a chance of 2**-128.
    """
    cdef void *memory = NULL
    if posix_memalign(&memory, sizeof(Decision) * BUCKET_DECISIONS, sizeof(Decisions)) != 0:
        return NULL
    memset(memory, 0, sizeof(Decisions))
    return <Decisions *>memory


cdef void remember(Decisions *decisions, const Digest *digest) noexcept nogil:
    """Control only. Where the bucket is full, the digest's own bits choose which of the others it replaces.

    Those of earlier policies are replaced like the others: nobody has their key any more.
    """
    cdef Decision *bucket = <Decision *>bucket_of(decisions, digest)
    cdef Decision *free_place = &bucket[digest.words[1] & (BUCKET_DECISIONS - 1)]
    cdef int place
    if is_remembered(decisions, digest):
        return
    for place in range(BUCKET_DECISIONS):
        if load(&bucket[place].words[0]) == 0 and load(&bucket[place].words[1]) == 0:
            free_place = &bucket[place]
            break
    store(&free_place.words[0], <int64_t>digest.words[0])
    store(&free_place.words[1], <int64_t>digest.words[1])

"""A count that only one thread writes at a time, and that any thread may read by `load` of atomics.pxd.

`count_one` costs one instruction and has no order with other words. Every machine that rocketns is built for writes an
aligned word of 8 bytes at once, so a reader sees a former count or the new one. ThreadSanitizer does not know that, and
gets an atomic store.
"""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    static inline void rocketns_count_one(int64_t *count) {
    #ifdef __SANITIZE_THREAD__
        __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
    #else
        *count += 1;
    #endif
    }
    """
    void count_one "rocketns_count_one"(int64_t *count) noexcept nogil

"""A count that only one thread writes at a time, and that any thread may read.

`count_one` costs one instruction and has no order with other words. Every machine that rocketns is built for writes an
aligned word of 8 bytes at once, so a reader sees a former count or the new one. ThreadSanitizer does not know that, and
gets an atomic store.
"""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    static inline int64_t rocketns_read_count(const int64_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }
    static inline void rocketns_count_one(int64_t *count) {
    #ifdef __SANITIZE_THREAD__
        __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
    #else
        *count += 1;
    #endif
    }
    """
    int64_t read_count "rocketns_read_count"(const int64_t *count) noexcept nogil
    void count_one "rocketns_count_one"(int64_t *count) noexcept nogil

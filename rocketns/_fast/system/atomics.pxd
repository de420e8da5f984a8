"""Words that threads share without a lock.

All operations are sequentially consistent: every thread sees the operations on all these words in one order. Where code
relies on the order of two words, its comment says so.
"""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    static inline int64_t rocketns_load(const int64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
    static inline void rocketns_store(int64_t *word, int64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
    static inline int64_t rocketns_add(int64_t *word, int64_t delta) {
        return __atomic_add_fetch(word, delta, __ATOMIC_SEQ_CST);
    }
    """
    int64_t load "rocketns_load"(const int64_t *word) noexcept nogil
    void store "rocketns_store"(int64_t *word, int64_t value) noexcept nogil
    int64_t add "rocketns_add"(int64_t *word, int64_t delta) noexcept nogil  # the new value

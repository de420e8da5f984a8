"""What threads share: words without a lock, counts of one writer, mutexes; and which thread may do what.

All operations on words are sequentially consistent: every thread sees the operations on all these words in one order.
Where code relies on the order of two words, its comment says so.

`count_one` is for a count that only one thread writes at a time, and that any thread may read by `load`. It costs one
instruction and has no order with other words. Every machine that rocketns is built for writes an aligned word of 8
bytes at once, so a reader sees a former count or the new one. ThreadSanitizer does not know that, and gets an atomic
store.

A function for one thread says so in the first line of its docstring: "Control only.", "Reactor thread only.", "Any
thread.". A build with ROCKETNS_DEBUG (the sanitizers' builds have it) also checks: `own` notes the owner's thread, and
`assert_owner` ends the process on any other thread. Other builds contain neither.
"""

from libc.stdint cimport int64_t

cdef extern from * nogil:
    """
    /* An expression without a value, so that it can stand wherever Cython writes a call. */
    #define rocketns_assert_equal(one, other) \\
        ((void)sizeof(struct { _Static_assert((one) == (other), #one " == " #other); char unused; }))
    """
    void assert_equal "rocketns_assert_equal"(size_t one, size_t other) noexcept

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

# Zeroed memory is a mutex that is not locked, as PTHREAD_MUTEX_INITIALIZER says in glibc and in musl. None has anything
# to free.
cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    /* Zeroed memory is an owner that is not known yet: any thread may work on what it owns. */
    typedef struct { pthread_t thread; int is_broker; } rocketns_owner;
    #ifdef ROCKETNS_DEBUG
    static inline void rocketns_own(rocketns_owner *owner) {
        owner->thread = pthread_self();
        __atomic_store_n(&owner->is_broker, 1, __ATOMIC_RELEASE);
    }
    static inline void rocketns_disown(rocketns_owner *owner) {
        __atomic_store_n(&owner->is_broker, 0, __ATOMIC_RELEASE);
    }
    static inline void rocketns_assert_owner(const rocketns_owner *owner, const char *function) {
        if (__atomic_load_n(&owner->is_broker, __ATOMIC_ACQUIRE) && !pthread_equal(owner->thread, pthread_self())) {
            fprintf(stderr, "rocketns: wrong thread in %s\\n", function);
            abort();
        }
    }
    #else
    #define rocketns_own(owner) ((void)0)
    #define rocketns_disown(owner) ((void)0)
    #define rocketns_assert_owner(owner, function) ((void)(function))
    #endif
    """
    ctypedef struct Owner "rocketns_owner":
        pass
    void own "rocketns_own"(Owner *owner) noexcept
    void disown "rocketns_disown"(Owner *owner) noexcept
    void assert_owner "rocketns_assert_owner"(const Owner *owner, const char *function) noexcept

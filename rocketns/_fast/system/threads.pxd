"""Mutexes, and which thread may do what.

A function for one thread says so in the first line of its docstring: "Control only.", "Reactor thread only.", "Any
thread.". A build with ROCKETNS_DEBUG (the sanitizers' builds have it) also checks: `own` notes the owner's thread, and
`assert_owner` ends the process on any other thread. Other builds contain neither.
"""

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    /* Zeroed memory is an owner that is not known yet: any thread may work on what it owns. */
    typedef struct { pthread_t thread; int is_known; } rocketns_owner;
    #ifdef ROCKETNS_DEBUG
    static inline void rocketns_own(rocketns_owner *owner) {
        owner->thread = pthread_self();
        __atomic_store_n(&owner->is_known, 1, __ATOMIC_RELEASE);
    }
    static inline void rocketns_disown(rocketns_owner *owner) {
        __atomic_store_n(&owner->is_known, 0, __ATOMIC_RELEASE);
    }
    static inline void rocketns_assert_owner(const rocketns_owner *owner, const char *function) {
        if (__atomic_load_n(&owner->is_known, __ATOMIC_ACQUIRE) && !pthread_equal(owner->thread, pthread_self())) {
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

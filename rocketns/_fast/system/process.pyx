"""The process: how glibc's allocator gives memory back to the system, and no core dumps of its secrets."""

from libc.errno cimport errno

from posix.resource cimport RLIMIT_CORE, rlimit, setrlimit

cdef extern from * nogil:
    """
    #include <malloc.h>
    static size_t rocketns_free_bytes(void) {
    #if __GLIBC_PREREQ(2, 33)
        return mallinfo2().fordblks;
    #else
        return (unsigned)mallinfo().fordblks;
    #endif
    }
    """
    int mallopt(int option, int value)
    int malloc_trim(size_t pad)
    size_t free_bytes "rocketns_free_bytes"()
    const int M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

cdef enum:
    MMAP_BYTES_MIN = 4 * 1024 * 1024
    TRIM_BYTES_MIN = 4 * 1024 * 1024
    FREE_BYTES_MAX = 32 * 1024 * 1024


def release_large_blocks():
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES_MIN)
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES_MIN)


def release_free_memory():
    if free_bytes() > FREE_BYTES_MAX:
        with nogil:
            malloc_trim(0)


cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, unsigned long value, unsigned long, unsigned long, unsigned long)
    const int PR_SET_DUMPABLE


def keep_secrets_out_of_core_dumps():
    cdef rlimit none
    none.rlim_cur = none.rlim_max = 0
    # Where the kernel pipes cores to a program it does so in spite of a limit of 0, so the limit alone is not enough.
    if setrlimit(RLIMIT_CORE, &none) != 0 or prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(errno, "core dumps cannot be turned off")

"""How glibc's allocator gives memory back to the system."""

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


def give_back_large_blocks():
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES_MIN)
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES_MIN)


def give_back_free_memory():
    if free_bytes() > FREE_BYTES_MAX:
        with nogil:
            malloc_trim(0)

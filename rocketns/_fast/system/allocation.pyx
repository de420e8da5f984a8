"""How glibc's allocator gives memory back to the system."""

cdef extern from "<malloc.h>" nogil:
    int mallopt(int option, int value)
    const int M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

cdef enum:
    MMAP_BYTES_MIN = 4 * 1024 * 1024
    TRIM_BYTES_MIN = 4 * 1024 * 1024


def give_back_large_blocks():
    mallopt(M_MMAP_THRESHOLD, MMAP_BYTES_MIN)
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES_MIN)

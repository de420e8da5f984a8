"""What compiled callers may use of proxy_extensions.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef enum Fault:
    NONE, CUT, SSL_CUT, TOO_DEEP

cdef Fault check(const uint8_t *data, size_t size, int nesting) noexcept nogil

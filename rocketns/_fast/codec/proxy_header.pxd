"""The PROXY header that a load balancer sends first on a connection, v1 and v2 (haproxy's proxy-protocol.txt)."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef enum:
    SOURCE_ROOM = 96

cpdef enum:
    DETECTION_BYTES = 12  # after so many it is known whether a header comes

cdef enum Header:
    UNFINISHED = 0
    COMPLETE = 1
    WRONG = 2

cdef struct ProxyHeader:
    size_t size
    char source[SOURCE_ROOM]  # host:port; empty where the header names none

cdef bint is_proxied(const uint8_t *data) noexcept nogil
cdef Header read_header(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil

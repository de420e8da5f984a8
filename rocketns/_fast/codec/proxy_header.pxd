"""The PROXY header that a load balancer sends first on a connection, v1 and v2: the twin of rocketns/protocol/proxy.py."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.connections.hosts cimport ADDRESS_ROOM

cdef enum Fault:
    NONE, CUT, SSL_CUT, TOO_DEEP

cdef Fault check(const uint8_t *data, size_t size, int nesting) noexcept nogil

cdef enum:
    DETECTION_BYTES = 12  # after so many it is known whether a header comes
    HEADER_BYTES_MAX = 16 + 65535

cdef enum Header:
    UNFINISHED = 0
    COMPLETE = 1
    WRONG = 2

cdef struct ProxyHeader:
    size_t size
    char source[ADDRESS_ROOM]  # host:port; empty where the header names none

cdef bint is_proxied(const uint8_t *data) noexcept nogil
cdef Header read_header(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil

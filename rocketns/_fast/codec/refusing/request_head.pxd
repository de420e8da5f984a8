"""What compiled callers may use of request_head.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

# What an answer without a body needs of a request.
cdef struct RequestHead:
    int32_t opaque
    int32_t flag

cdef enum:
    UNANSWERED = 3  # of a flag: the bits of a response and of a oneway request

cdef bint read_head(const uint8_t *frame, size_t size, RequestHead *head) noexcept nogil

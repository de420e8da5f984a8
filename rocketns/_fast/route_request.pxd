"""What compiled callers may use of route_request.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

from rocketns._fast.compact_json cimport Text

# A look-up that a reactor can answer: flag 0, a topic in ASCII, no zone. standard says which dialect of the body.
cdef struct RouteRequest:
    Text topic
    Text language
    int language_code
    int32_t opaque
    int32_t version
    bint standard

cdef bint recognise_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil

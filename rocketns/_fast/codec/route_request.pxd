"""What compiled callers may use of route_request.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t

from rocketns._fast.codec.compact_json cimport Text

# A lookup that a reactor can answer: flag 0, a topic in ASCII, no zone. standard says which dialect of the body. language_code is LanguageCode's, or NO_LANGUAGE.
# is_signed: one of the ext fields is a Signature that is not empty. Then ext is all of them as they were sent: the JSON
# object with its brackets, or the pairs of a binary header. A lookup that was found by a layout has none of these.
cdef struct RouteRequest:
    Text topic
    Text opaque_digits
    int language_code
    int32_t opaque
    int32_t version
    bint standard
    Text ext
    bint is_signed
    bint is_binary
    bint has_body

cdef enum:
    LAYOUT_BYTES_MAX = 400
    NO_LANGUAGE = -1

# The bytes of a recognised JSON header around its topic and its opaque. A client's next header mostly has the same.
cdef struct Layout:
    uint32_t before_topic
    uint32_t before_opaque
    uint32_t behind
    int32_t version
    int language_code
    bint standard
    uint8_t data[LAYOUT_BYTES_MAX]

cdef bint recognise_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil
cdef bint learn_layout(const uint8_t *frame, size_t size, const RouteRequest *request, Layout *layout) noexcept nogil
cdef bint follows_layout(const uint8_t *frame, size_t size, const Layout *layout, RouteRequest *request) noexcept nogil

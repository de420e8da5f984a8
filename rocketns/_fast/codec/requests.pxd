"""What compiled callers may use of requests.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint32_t, uint8_t

from rocketns._fast.codec.compact_json cimport Text

# A request: with its code, flag and opaque a reactor may refuse it. All else is set where it is a lookup that a reactor
# can answer: flag 0, a topic in ASCII, no zone. standard says which dialect of the body. language_code is
# LanguageCode's, or NO_LANGUAGE. is_signed: one of the ext fields is a Signature that is not empty. Only then the
# fields below it are set. ext is all ext fields as they were sent: the JSON object with its brackets, or the pairs of a
# binary header.
cdef struct RouteRequest:
    int32_t code
    int32_t flag
    bint is_lookup
    Text topic
    Text opaque_digits
    int language_code
    int32_t opaque
    int32_t version
    bint standard
    bint wants_announced  # addresses, whatever view the sender is in
    bint is_signed
    Text signature
    Text ext
    bint is_binary
    bint has_body

cdef enum:
    LAYOUT_BYTES_MAX = 400
    LAYOUT_PARTS = 4
    NO_LANGUAGE = -1
    UNANSWERED = 3  # of a flag: the bits of a response and of a oneway request

# The bytes of a recognised JSON header around its signature, its topic and its opaque: a client's next header mostly
# has the same. The signature comes first: clients sort the fields, or have Java's HashMap. Without one `parts` has an
# empty part between it and the topic.
cdef struct Layout:
    RouteRequest request  # the one that it was learnt from; its texts are gone
    uint32_t parts[LAYOUT_PARTS]  # their lengths in `data`, one behind the other. The first is 0 where nothing is learnt
    uint32_t before_ext
    uint32_t ext_behind_topic
    uint8_t data[LAYOUT_BYTES_MAX]

cdef bint read_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil
cdef bint recognise_request(const uint8_t *frame, size_t size, RouteRequest *request) noexcept nogil
cdef bint learn_layout(const uint8_t *frame, size_t size, const RouteRequest *request, Layout *layout) noexcept nogil
cdef bint follows_layout(const uint8_t *frame, size_t size, const Layout *layout, RouteRequest *request) noexcept nogil

"""From a recognised look-up to its answer."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t

from rocketns._fast.route_reply cimport HEAD_BYTES_MAX, put_absent, put_success
from rocketns._fast.route_request cimport RouteRequest
from rocketns._fast.routes cimport ABSENT, DEFAULT, HANDED_OVER, STANDARD, Routes, Slot, body_size, find_slot, write_body

# What was found; it holds only as long as the reader's mutex is held.
cdef struct Found:
    Slot *slot
    int64_t body_size


cdef inline int64_t find_answer(const Routes *routes, const RouteRequest *request, Found *found) noexcept nogil:
    """Bytes of room that `write_answer` needs, HANDED_OVER where the answer cannot be composed."""
    found.slot = find_slot(routes, request.topic.start, request.topic.length)
    found.body_size = ABSENT
    if found.slot != NULL:
        found.body_size = body_size(routes, found.slot, STANDARD if request.standard else DEFAULT)
    if found.body_size == HANDED_OVER:
        return HANDED_OVER
    return HEAD_BYTES_MAX + (<int64_t>request.topic.length if found.body_size == ABSENT else found.body_size)


cdef inline size_t write_answer(
    const Routes *routes, const RouteRequest *request, const Found *found, int serialize_type, uint8_t *out
) noexcept nogil:
    """How many bytes it wrote."""
    cdef uint8_t *end
    if found.body_size == ABSENT:
        return <size_t>(put_absent(out, request.opaque, serialize_type, &request.topic) - out)
    end = put_success(out, request.opaque, serialize_type, <size_t>found.body_size)
    end = write_body(routes, found.slot, STANDARD if request.standard else DEFAULT, end)
    return <size_t>(end - out)

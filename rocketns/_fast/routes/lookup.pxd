"""From a recognised lookup to its answer."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint64_t

from rocketns._fast.system.hashing cimport hash_bytes
from rocketns._fast.codec.route_reply cimport HEAD_BYTES_MAX, put_absent, put_body_size, put_success
from rocketns._fast.codec.route_request cimport RouteRequest
from rocketns._fast.routes.slots cimport (
    ABSENT, DEFAULT, HANDED_OVER, NO_ROOM, STANDARD, Routes, Slot, body_size, find_hashed_slot, find_slot, write_body
)

# An answer that was written; or its size is HANDED_OVER or NO_ROOM.
cdef struct Answer:
    int64_t size
    uint64_t topic_hash
    bint is_absent


cdef inline void write_answer(
    const Routes *routes, const RouteRequest *request, int view, int serialize_type, int version, uint8_t *out,
    size_t room, Answer *answer,
) noexcept nogil:
    """Any reader (see slots.pyx). Writes the answer's frame from ``out`` on, for a client in a view; 0 is none."""
    cdef uint64_t hash = hash_bytes(request.topic.start, request.topic.length, &routes.key)
    cdef const Slot *slot = find_hashed_slot(routes, request.topic.start, request.topic.length, hash)
    cdef uint8_t *body
    cdef int64_t size = ABSENT
    answer.topic_hash = hash
    answer.is_absent = False
    answer.size = NO_ROOM
    if room < HEAD_BYTES_MAX + request.topic.length:
        return
    if slot != NULL:
        body = put_success(out, request.opaque, serialize_type, version)
        size = write_body(routes, slot, STANDARD if request.standard else DEFAULT, view, body, out + room)
    if size > 0:
        put_body_size(out, body, <size_t>size)
        answer.size = body - out + size
    elif size == ABSENT:
        answer.is_absent = True
        answer.size = put_absent(out, request.opaque, serialize_type, version, &request.topic) - out
    else:
        answer.size = size


cdef inline size_t answer_room(const Routes *routes, const RouteRequest *request, int view) noexcept nogil:
    """Any reader. Room enough for the answer, whatever it is."""
    cdef const Slot *slot = find_slot(routes, request.topic.start, request.topic.length)
    cdef int64_t size = ABSENT
    if slot != NULL:
        size = body_size(routes, slot, STANDARD if request.standard else DEFAULT, view)
    return HEAD_BYTES_MAX + request.topic.length + <size_t>max(size, <int64_t>0)

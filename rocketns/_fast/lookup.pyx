"""The fast lane's answer to one frame, for tests: what a reactor would send (see lookup.pxd)."""

from libc.stdint cimport int64_t, uint8_t

from rocketns._fast.lookup cimport Found, find_answer, write_answer
from rocketns._fast.route_request cimport RouteRequest, recognise_request
from rocketns._fast.routes cimport HANDED_OVER, RouteSlots


def answer(RouteSlots slots, const unsigned char[::1] frame, int serialize_type):
    cdef RouteRequest request
    cdef Found found
    cdef int64_t room
    cdef bytearray out
    if frame.shape[0] < 8 or not recognise_request(&frame[0], <size_t>frame.shape[0], &request):
        return None
    room = find_answer(&slots.routes, &request, &found)
    if room == HANDED_OVER:
        return None
    out = bytearray(room)
    size = write_answer(&slots.routes, &request, &found, serialize_type, <uint8_t *>out)
    return bytes(out[:size])

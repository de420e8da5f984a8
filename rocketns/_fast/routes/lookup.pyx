"""The fast lane's answer to one frame, for tests: what a reactor would send (see lookup.pxd)."""

from libc.stdint cimport uint8_t

from rocketns._fast.routes.lookup cimport Answer, answer_room, write_answer
from rocketns._fast.codec.route_request cimport RouteRequest, recognise_request
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport HANDED_OVER


def answer(RouteSlots slots, const unsigned char[::1] frame, int serialize_type):
    cdef RouteRequest request
    cdef Answer written
    cdef bytearray out
    cdef size_t room
    if frame.shape[0] < 8 or not recognise_request(&frame[0], <size_t>frame.shape[0], &request):
        return None
    room = answer_room(&slots.routes, &request)
    out = bytearray(room)
    write_answer(&slots.routes, &request, serialize_type, <uint8_t *>out, room, &written)
    assert written.size > 0 or written.size == HANDED_OVER
    return None if written.size == HANDED_OVER else bytes(out[:written.size])

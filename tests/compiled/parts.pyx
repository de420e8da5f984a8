"""The compiled parts one by one, as no Python of the product calls them: lookups, bodies, a reactor's clock."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from rocketns._fast.codec.replies cimport HEAD_BYTES_MAX, SYSTEM_BUSY, TOO_MANY_REQUESTS, put_error
from rocketns._fast.codec.requests cimport (
    Layout, RouteRequest, follows_layout, learn_layout, read_request, recognise_request
)
from rocketns._fast.connections.hosts cimport TLS
from rocketns._fast.reactor.reactor_state cimport Reactor
from rocketns._fast.reactor.reactors cimport Reactors
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport (
    ABSENT, DEFAULT, NO_ROOM, STANDARD, Answer, HANDED_OVER as HANDED_OVER_SIZE, Slot, find_slot, write_answer,
    write_body
)
from rocketns._fast.system.threads cimport load, pthread_mutex_lock, pthread_mutex_unlock, store

cdef enum:
    HEAD_BYTES = 8  # of a frame, before its header

HANDED_OVER = <int>HANDED_OVER_SIZE


def recognise(const unsigned char[::1] frame):
    """Topic, opaque, version and whether the body is to be in the standard dialect; None: for control.

    ``frame`` is whole and well formed as far as `wire.next_frame` tells.
    """
    cdef RouteRequest request
    if frame.shape[0] < HEAD_BYTES or not recognise_request(&frame[0], <size_t>frame.shape[0], &request):
        return None
    return request.topic.start[:request.topic.length], request.opaque, request.version, request.standard


def recognise_like(const unsigned char[::1] learnt, const unsigned char[::1] frame):
    """The result of `recognise` for ``frame``, found by the layout of ``learnt``; None if that layout does not fit."""
    cdef RouteRequest request
    cdef Layout layout
    if min(learnt.shape[0], frame.shape[0]) < HEAD_BYTES:
        return None
    if not recognise_request(&learnt[0], <size_t>learnt.shape[0], &request):
        return None
    if not learn_layout(&learnt[0], <size_t>learnt.shape[0], &request, &layout):
        return None
    if not follows_layout(&frame[0], <size_t>frame.shape[0], &layout, &request):
        return None
    return request.topic.start[:request.topic.length], request.opaque, request.version, request.standard


def answer(RouteSlots slots, const unsigned char[::1] frame, int serialize_type, int version=513, int view=0):
    """The whole answer frame that a reactor would send, None where it hands the request over.

    ``serialize_type`` 0 writes a JSON header, 1 a binary one. ``version`` is the one in the header.
    """
    cdef RouteRequest request
    cdef Answer written
    cdef size_t room = 1024
    cdef bytearray out
    if frame.shape[0] < HEAD_BYTES or not recognise_request(&frame[0], <size_t>frame.shape[0], &request):
        return None
    written.size = NO_ROOM
    while written.size == NO_ROOM:
        room *= 2
        out = bytearray(room)
        write_answer(&slots.routes, &request, view, serialize_type, version, <uint8_t *>out, room, &written)
    assert written.size > 0 or written.size == HANDED_OVER_SIZE
    return None if written.size == HANDED_OVER_SIZE else bytes(out[:written.size])


def head(const unsigned char[::1] frame):
    """Opaque and flag of a request; None: for control. ``frame`` as of `recognise`."""
    cdef RouteRequest found
    if frame.shape[0] < HEAD_BYTES or not read_request(&frame[0], <size_t>frame.shape[0], &found):
        return None
    return found.opaque, found.flag


def busy(int32_t opaque, int serialize_type, int version):
    """The whole answer frame to a request beyond the rate of its host."""
    cdef bytearray out = bytearray(HEAD_BYTES_MAX)
    cdef uint8_t *start = <uint8_t *>out
    cdef uint8_t *end = put_error(start, SYSTEM_BUSY, opaque, serialize_type, version, TOO_MANY_REQUESTS, NULL)
    return bytes(out[:end - start])


def body_of(RouteSlots slots, bytes topic, bint standard, int view=0):
    """The topic's body, None where it has no route, HANDED_OVER where control composes it."""
    cdef const uint8_t *key = topic
    cdef Slot *slot = find_slot(&slots.routes, key, len(topic))
    cdef int dialect = STANDARD if standard else DEFAULT
    cdef int64_t size = ABSENT if slot == NULL else NO_ROOM
    cdef bytearray out = bytearray(512)
    cdef uint8_t *start
    while size == NO_ROOM:
        out = bytearray(2 * len(out))
        start = out
        size = write_body(slot, dialect, view, start, start + len(out))
    if size <= 0:
        return None if size == ABSENT else HANDED_OVER
    assert write_body(slot, dialect, view, start, start + size - 1) == NO_ROOM
    assert write_body(slot, dialect, view, start, start + size) == size
    return bytes(out[:size])


def set_clock(Reactors reactors, int64_t now_ms):
    """What the reactors take for the time, until it is -1 again."""
    store(&reactors.shared.clock_ms, now_ms)


def carried(Reactors reactors):
    """How many connections each reactor has."""
    cdef Reactor *reactor
    cdef list counts = []
    for number in range(reactors.count):
        reactor = reactors.shared.reactors[number]
        pthread_mutex_lock(&reactor.table_mutex)
        counts.append(sum([reactor.connections[fd] != NULL for fd in range(reactor.table_end)]))
        pthread_mutex_unlock(&reactor.table_mutex)
    return counts


def deferred(Reactors reactors):
    """Lookups that wait for registrations that came before them."""
    return load(&reactors.shared.deferred)


def tls_bytes(Reactors reactors):
    """The part of the incoming bytes that is OpenSSL's."""
    return load(&reactors.shared.hosts.charged_bytes[TLS])


def has_handled_all(Reactors reactors):
    """Whether the reactors handled every message sent to them.

    Handled counts are read before sent counts, which only grow. So equal sums mean that every message had been handled
    when its reactor's count was read, and that none was sent since. Reactors send messages too, and count them before
    they count the message that made them send as handled.
    """
    cdef int64_t unhandled = 0
    for number in range(reactors.shared.reactor_count):
        unhandled -= load(&reactors.shared.reactors[number].messages_handled)
    for number in range(reactors.shared.reactor_count):
        unhandled += load(&reactors.shared.reactors[number].messages_sent)
    return unhandled == 0


def is_settled(Reactors reactors):
    """Whether every message was handled, and every message to control was taken."""
    return has_handled_all(reactors) and not reactors.has_news

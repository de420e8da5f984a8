"""Requests beyond the rate of their host: answered SYSTEM_BUSY here, so that control and the tables see none of them.

All functions are for the reactor's thread.
"""

from rocketns._fast.codec.busy_reply cimport put_busy
from rocketns._fast.codec.request_head cimport UNANSWERED, RequestHead, read_head
from rocketns._fast.codec.route_reply cimport HEAD_BYTES_MAX
from rocketns._fast.codec.route_request cimport RouteRequest, follows_layout
from rocketns._fast.codec.wire cimport HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, read_uint32
from rocketns._fast.connections.connection cimport output_space, unsent
from rocketns._fast.connections.rates cimport OF_KNOWN, OF_STRANGERS, take
from rocketns._fast.reactor.answers cimport send_scratch
from rocketns._fast.reactor.reactor_state cimport SCRATCH_BYTES


cdef bint may_ask(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take a token of the connection's host, unless its next frame has one."""
    cdef int bucket = OF_KNOWN if connection.is_known else OF_STRANGERS
    cdef const char *announced = connection.address if reactor.shared.limits.trusts_announced else NULL
    if connection.is_let_through:
        return True
    return take(reactor.shared.rates, connection.rated, bucket, reactor.now_ms, announced, connection.fd)


cdef void put_answer(Reactor *reactor, Connection *connection, const RequestHead *head) noexcept nogil:
    """Reactor thread only. Into the scratch, or behind answers that the peer has not taken."""
    cdef int serialize_type = reactor.shared.limits.serialize_type, version = reactor.shared.limits.version
    cdef uint8_t *out
    cdef size_t size
    if reactor.out_size + HEAD_BYTES_MAX > SCRATCH_BYTES:
        send_scratch(reactor, connection)
    if unsent(connection) == 0:
        out = reactor.scratch_out + reactor.out_size
        size = <size_t>(put_busy(out, head.opaque, serialize_type, version) - out)
        reactor.out_size += size
    else:
        out = output_space(connection, HEAD_BYTES_MAX)
        if out == NULL:
            connection.is_failed = True
            return
        size = <size_t>(put_busy(out, head.opaque, serialize_type, version) - out)
        connection.output_end += size
    reactor.turn_bytes += size


cdef bint find_head(
    const Reactor *reactor, const Connection *connection, const uint8_t *frame, size_t size, RequestHead *head
) noexcept nogil:
    """Reactor thread only. A lookup like earlier ones of the connection needs no scan."""
    cdef RouteRequest request
    if connection.layout and follows_layout(frame, size, &reactor.layouts[connection.layout - 1], &request):
        head.opaque, head.flag = request.opaque, 0
        return True
    return read_head(frame, size, head)


cdef bint refuse(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Answer a frame SYSTEM_BUSY, if its sender waits for an answer. False: control has to do it.

    Earlier requests of the connection may wait at control. This one has no effect, so it need not wait for them.
    """
    cdef RequestHead head
    if not find_head(reactor, connection, frame, size, &head):
        return False
    if head.flag & UNANSWERED == 0:
        put_answer(reactor, connection, &head)
    return True


cdef size_t header_end(const uint8_t *frame, size_t size) noexcept nogil:
    """Any thread. Where the header of a whole frame ends; control needs no more of what it refuses."""
    return min(size, HEAD_BYTES + <size_t>(read_uint32(frame + HEADER_WORD_AT) & HEADER_LENGTH_MASK))

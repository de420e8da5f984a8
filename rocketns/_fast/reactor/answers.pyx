"""Answering lookups: recognised by the layout of earlier ones, written into the reactor's scratch, sent together.

Requests beyond the rate of their host are answered SYSTEM_BUSY here, so that control and the tables see none of them.

All functions are for the reactor's thread.
"""

from libc.stdlib cimport free, malloc

from rocketns._fast.system.atomics cimport add, load
from rocketns._fast.connections.connection cimport output_space, unsent
from rocketns._fast.connections.messages cimport LOOKED_UP, Message, new_message, push
from rocketns._fast.connections.admission cimport may_look_up
from rocketns._fast.connections.hosts cimport OF_KNOWN, OF_STRANGERS
from rocketns._fast.connections.hosts cimport may_ask as host_may_ask
from rocketns._fast.routes.lookup cimport Answer, answer_room, write_answer
from rocketns._fast.routes.lookup_counts cimport count_lookup
from rocketns._fast.routes.missing cimport missed_host, note_missed
from rocketns._fast.reactor.deferred cimport defer
from rocketns._fast.reactor.records cimport send_answers
from rocketns._fast.reactor.reactor_state cimport LAYOUTS, SCRATCH_BYTES, id_of
from rocketns._fast.reactor.views cimport view_of
from rocketns._fast.codec.refusing.busy_reply cimport put_busy
from rocketns._fast.codec.refusing.request_head cimport UNANSWERED, RequestHead, read_head
from rocketns._fast.codec.route_reply cimport HEAD_BYTES_MAX
from rocketns._fast.codec.wire cimport HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, read_uint32
from rocketns._fast.codec.route_request cimport RouteRequest, follows_layout, learn_layout, recognise_request
from rocketns._fast.routes.slots cimport HANDED_OVER, NO_ROOM
from rocketns._fast.system.counting cimport count_one
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    DEFERRED = -3  # in place of an answer's size: it waits
    LEARNT_MAX = 8  # layouts that are looked for on behalf of one connection, which may send many

# A recognised lookup, and the frame that it was read from.
cdef struct Lookup:
    RouteRequest request
    const uint8_t *frame
    size_t size
    bint was_deferred
    int view  # whose addresses its answer has


cdef void send_scratch(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send the answers written so far; what the peer does not take waits in the connection."""
    send_answers(reactor, connection, reactor.scratch_out, reactor.out_size)
    reactor.out_size = 0


cdef inline bint may_use_scratch(const Connection *connection) noexcept nogil:
    """Reactor thread only. Whether answers go through the scratch. Those behind unsent ones are copied once less
    without it, but records are made from the scratch."""
    return connection.tls != NULL or unsent(connection) == 0


cdef bint recognise(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, RouteRequest *request
) noexcept nogil:
    """Reactor thread only. Try the layout of the connection's earlier lookups first."""
    if connection.layout and follows_layout(frame, size, &reactor.layouts[connection.layout - 1], request):
        return True
    if not recognise_request(frame, size, request):
        return False
    if connection.layouts_learnt == 0 and reactor.shared.tells_clients:
        tell_client(reactor, connection, request)
    if connection.layouts_learnt < LEARNT_MAX:
        connection.layouts_learnt += 1
        connection.layout = find_layout(reactor, frame, size, request)
    return True


cdef void tell_client(Reactor *reactor, Connection *connection, const RouteRequest *request) noexcept nogil:
    """Reactor thread only. Report the sender's language and version to control; nothing if memory is short."""
    cdef Message *message = new_message(LOOKED_UP, id_of(reactor, connection))
    if message != NULL:
        message.number, message.moment = request.language_code, request.version
        message.queued.host = connection.host
        push(&reactor.shared.to_control, message)


cdef uint8_t find_layout(
    Reactor *reactor, const uint8_t *frame, size_t size, const RouteRequest *request
) noexcept nogil:
    """Reactor thread only. The number, from 1, of the request's layout; 0 where it has none.

    A new layout replaces the one that was learnt first.
    """
    cdef RouteRequest ignored
    cdef uint8_t place
    for place in range(LAYOUTS):
        if follows_layout(frame, size, &reactor.layouts[place], &ignored):
            return place + 1
    place = reactor.next_layout
    reactor.next_layout = (place + 1) % LAYOUTS
    if learn_layout(frame, size, request, &reactor.layouts[place]):
        return place + 1
    return 0


cdef inline void finish_lookup(
    Reactor *reactor, const Connection *connection, const Lookup *lookup, Answer *answer
) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. Defer a lookup without a route; or note its topic, and count it for the
    journal if that wants it."""
    cdef const char *client
    if answer.is_absent and answer.size > 0:
        if not lookup.was_deferred and defer(reactor, connection, lookup.frame, lookup.size):
            answer.size = DEFERRED
            return
        note_missed(&reactor.missing, &lookup.request, answer.topic_hash, &connection.peer, missed_host(connection.host_hash),
                    id_of(reactor, connection))
    if reactor.counts.table != NULL and answer.size > 0:
        client = connection.address if reactor.shared.counts_clients else NULL
        count_lookup(&reactor.counts, &lookup.request, answer.topic_hash, client, connection.address_hash,
                     answer.is_absent)


cdef void answer_in_scratch(Reactor *reactor, Connection *connection, Lookup *lookup, Answer *answer) noexcept nogil:
    """Reactor thread only."""
    cdef size_t used = reactor.out_size
    pthread_mutex_lock(&reactor.routes_mutex)
    lookup.view = view_of(reactor, connection, &lookup.request)
    write_answer(reactor.shared.routes, &lookup.request, lookup.view, reactor.shared.limits.serialize_type,
                 reactor.shared.limits.version, reactor.scratch_out + used, SCRATCH_BYTES - used, answer)
    finish_lookup(reactor, connection, lookup, answer)
    pthread_mutex_unlock(&reactor.routes_mutex)
    if answer.size > 0:
        reactor.out_size += <size_t>answer.size
        reactor.turn_bytes += <size_t>answer.size


cdef void answer_in_output(Reactor *reactor, Connection *connection, Lookup *lookup, Answer *answer) noexcept nogil:
    """Reactor thread only. For a peer with unsent answers, or an answer that is larger than the scratch."""
    cdef size_t room
    cdef uint8_t *space
    pthread_mutex_lock(&reactor.routes_mutex)
    lookup.view = view_of(reactor, connection, &lookup.request)
    room = answer_room(reactor.shared.routes, &lookup.request, lookup.view)
    space = output_space(connection, room) if connection.tls == NULL else <uint8_t *>malloc(room)
    if space != NULL:
        write_answer(reactor.shared.routes, &lookup.request, lookup.view, reactor.shared.limits.serialize_type,
                     reactor.shared.limits.version, space, room, answer)
        finish_lookup(reactor, connection, lookup, answer)
    pthread_mutex_unlock(&reactor.routes_mutex)
    if space == NULL:
        connection.is_failed, answer.size = True, NO_ROOM
    elif answer.size > 0:
        if connection.tls == NULL:
            connection.output_end += <size_t>answer.size
        else:
            send_answers(reactor, connection, space, <size_t>answer.size)
        reactor.turn_bytes += <size_t>answer.size
    if connection.tls != NULL:
        free(space)


cdef bint answer(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, bint was_deferred
) noexcept nogil:
    """Reactor thread only. Answer a lookup, or defer it; False where the frame is for control.

    With a request at control (`in_flight`), lookups go there too, behind it: what a peer sends takes effect in its
    order. `in_flight` counts down when control's answer is in the output, so the next lookup is answered behind it. One
    that ``was_deferred`` came before what is at control.
    """
    cdef Lookup lookup
    cdef Answer written
    if (connection.in_flight and not was_deferred) or not load(&reactor.shared.enabled):
        return False
    if not recognise(reactor, connection, frame, size, &lookup.request):
        return False
    if connection.lookups and not may_look_up(&reactor.known_policy, connection, &lookup.request):
        return False
    lookup.frame, lookup.size, lookup.was_deferred = frame, size, was_deferred
    written.size = NO_ROOM
    if may_use_scratch(connection):
        answer_in_scratch(reactor, connection, &lookup, &written)
    if written.size == NO_ROOM and reactor.out_size:
        send_scratch(reactor, connection)
        if may_use_scratch(connection) and not connection.is_failed:
            answer_in_scratch(reactor, connection, &lookup, &written)
    if written.size == NO_ROOM and not connection.is_failed:
        answer_in_output(reactor, connection, &lookup, &written)
    if written.size == HANDED_OVER:
        return False
    if written.size == DEFERRED:
        return True
    count_one(&connection.answered)
    add(&reactor.absent if written.is_absent else &reactor.answered, 1)
    if lookup.view:
        add(&reactor.of_views[lookup.view - 1], 1)
    if connection.lookups:
        add(&reactor.signed_lookups, 1)
    return True


cdef bint may_ask(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take a token of the connection's host, unless its next frame has one."""
    cdef int bucket = OF_KNOWN if connection.is_known else OF_STRANGERS
    cdef const char *announced = connection.address if reactor.shared.limits.trusts_announced else NULL
    if connection.is_let_through:
        return True
    return host_may_ask(reactor.shared.hosts, connection.host, bucket, reactor.now_ms, announced, connection.fd)


cdef void put_answer(Reactor *reactor, Connection *connection, const RequestHead *head) noexcept nogil:
    """Reactor thread only. Into the scratch, or behind answers that the peer has not taken."""
    cdef int serialize_type = reactor.shared.limits.serialize_type, version = reactor.shared.limits.version
    cdef uint8_t *out
    cdef size_t size
    if reactor.out_size + HEAD_BYTES_MAX > SCRATCH_BYTES:
        send_scratch(reactor, connection)
    if may_use_scratch(connection):
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

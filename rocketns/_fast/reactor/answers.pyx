"""Answering lookups: recognised by the layout of earlier ones, written into one buffer of the reactor, sent together.

Requests beyond the rate of their host are answered SYSTEM_BUSY here, so that control and the tables see none of them.
A lookup without a route may be deferred: see answers.pxd.

All functions are for the reactor's thread.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy, memset

from rocketns._fast.access.networks cimport ADDRESS_BYTES, flags_of, is_ipv4
from rocketns._fast.access.policy cimport may_look_up
from rocketns._fast.codec.compact_json cimport Text
from rocketns._fast.codec.replies cimport HEAD_BYTES_MAX, SYSTEM_BUSY, TOO_MANY_REQUESTS, put_error
from rocketns._fast.codec.requests cimport (
    UNANSWERED, RouteRequest, follows_layout, learn_layout, read_request, recognise_request
)
from rocketns._fast.connections.connection cimport make_room, send_answers
from rocketns._fast.connections.hosts cimport HOSTS, SUBSCRIBER_BYTES
from rocketns._fast.connections.messages cimport Message, MessageKind, enqueue, new_message
from rocketns._fast.reactor.reactor_state cimport LAYOUTS, Limits, notify_control
from rocketns._fast.routes.asked_topics cimport HOST_NUMBERS, count_lookup, note_missed
from rocketns._fast.routes.slots cimport HANDED_OVER, NO_ROOM, Answer, Routes, write_answer
from rocketns._fast.system.sockets cimport monotonic_ms
from rocketns._fast.system.threads cimport add, assert_equal, count_one, load, pthread_mutex_lock, pthread_mutex_unlock


assert_equal(HOST_NUMBERS, HOSTS)

cdef enum:
    DEFERRED_MAX = 256
    DEFERRED_OF_HOST_MAX = 16
    DEFERRED_BYTES_MAX = 4096  # of one frame
    ROUNDS = 2  # the present one, and the next


cdef bint defer(Reactor *reactor, const Connection *connection, const uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Keep a copy of a lookup for `turns.answer_deferred`; False: it is to be answered at once.

    `deferred` is raised before the reactor reads `unapplied` again, and control lowers `unapplied` before it reads
    `deferred`: so at least one of the two sees what the other wrote, and nobody waits for a wake-up that does not come.
    """
    cdef Message *message
    cdef int64_t *of_host = &reactor.shared.hosts.hosts[connection.message.host].deferred
    if load(&reactor.shared.unapplied) == 0 and not reactor.has_accepted:
        return False
    if load(&reactor.shared.deferred) >= DEFERRED_MAX or size > DEFERRED_BYTES_MAX:
        return False
    if load(of_host) >= DEFERRED_OF_HOST_MAX:
        return False
    message = new_message(MessageKind.FRAME, &connection.message, size)
    if message == NULL:
        return False
    memcpy(message.data, frame, size)
    message.number = load(&reactor.rounds) + ROUNDS
    message.moment = monotonic_ms() + reactor.shared.limits.deferred_ms_max
    enqueue(&reactor.deferred, &message.link, message)
    add(of_host, 1)
    add(&reactor.shared.deferred, 1)
    return True


cdef extern from *:
    """
    /* Topics by which brokers find the members of their group: RocketMQ's TopicValidator. */
    static const char ROCKETNS_MEMBERS[] = "rmq_sys_SYNC_BROKER_MEMBER_";
    """
    const char *MEMBERS "ROCKETNS_MEMBERS"
    enum: MEMBERS_LENGTH "sizeof(ROCKETNS_MEMBERS) - 1"


cdef inline int choose_view(const Reactor *reactor, const Connection *connection) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The twin of ``rocketns.views.views.Views.through``."""
    cdef const Routes *routes = reactor.shared.routes
    cdef unsigned char address[ADDRESS_BYTES]
    cdef bint is_anybodys = connection.is_announced and not reactor.shared.limits.trusts_announced
    if connection.listener:
        return routes.view_of_listener[connection.listener]
    if not connection.peer.has_address and not is_anybodys:
        return 0
    memcpy(address, connection.peer.address, ADDRESS_BYTES)
    if is_anybodys and not is_ipv4(address):  # the socket's, see `opening.read_proxy`
        memset(address + SUBSCRIBER_BYTES, 0, ADDRESS_BYTES - SUBSCRIBER_BYTES)
    return flags_of(routes.view_networks, address, True)


cdef inline int view_of(const Reactor *reactor, Connection *connection, const RouteRequest *request) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The number of the view that a lookup is answered for; 0: none."""
    cdef const Text *topic = &request.topic
    cdef const Routes *routes = reactor.shared.routes
    if routes.views == 0 or connection.is_broker or request.wants_announced:
        return 0
    if connection.view_generation != routes.view_generation:
        connection.view = <unsigned char>choose_view(reactor, connection)
        connection.view_generation = routes.view_generation
    if connection.view and topic.length >= MEMBERS_LENGTH and memcmp(topic.start, MEMBERS, MEMBERS_LENGTH) == 0:
        return 0
    return connection.view


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


cdef void send_written(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send the answers written so far; what the peer does not take waits in the connection."""
    send_answers(connection, &reactor.wire, reactor.written.data, reactor.written.size)
    reactor.written.size = 0


cdef bint recognise(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, RouteRequest *request
) noexcept nogil:
    """Reactor thread only. Try the layout of the connection's earlier lookups first."""
    if connection.layout and follows_layout(frame, size, &reactor.layouts[connection.layout - 1], request):
        return True
    if not recognise_request(frame, size, request):
        return False
    if connection.layouts_learnt == 0 and reactor.shared.limits.reports_clients:
        notify_control(reactor, connection, MessageKind.LOOKED_UP, request.language_code, request.version)
    if connection.layouts_learnt < LEARNT_MAX:
        connection.layouts_learnt += 1
        connection.layout = find_layout(reactor, frame, size, request)
    return True


cdef uint8_t find_layout(
    Reactor *reactor, const uint8_t *frame, size_t size, const RouteRequest *request
) noexcept nogil:
    """Reactor thread only. The number, from 1, of the request's layout; 0 where it has none.

    A new layout replaces the one that was learnt first.
    """
    cdef RouteRequest ignored
    cdef uint8_t index
    for index in range(LAYOUTS):
        if follows_layout(frame, size, &reactor.layouts[index], &ignored):
            return index + 1
    index = reactor.next_layout
    reactor.next_layout = (index + 1) % LAYOUTS
    if learn_layout(frame, size, request, &reactor.layouts[index]):
        return index + 1
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
        note_missed(&reactor.missing, &lookup.request, answer.topic_hash, &connection.peer, connection.message.host,
                    connection.message.connection)
    if reactor.counts.table != NULL and answer.size > 0:
        client = connection.address if reactor.shared.limits.counts_clients else NULL
        count_lookup(&reactor.counts, &lookup.request, answer.topic_hash, client, connection.address_hash,
                     answer.is_absent)


cdef void compose(Reactor *reactor, Connection *connection, Lookup *lookup, Answer *answer) noexcept nogil:
    """Reactor thread only. Write the answer behind those that were written, if there is room."""
    cdef Buffer *out = &reactor.written
    pthread_mutex_lock(&reactor.routes_mutex)
    lookup.view = view_of(reactor, connection, &lookup.request)
    write_answer(reactor.shared.routes, &lookup.request, lookup.view, reactor.shared.limits.serialize_type,
                 reactor.shared.limits.version, out.data + out.size, out.room - out.size, answer)
    finish_lookup(reactor, connection, lookup, answer)
    pthread_mutex_unlock(&reactor.routes_mutex)
    if answer.size > 0:
        out.size += <size_t>answer.size
        reactor.turn_bytes += <size_t>answer.size


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
    if connection.is_guarded and not may_look_up(&reactor.shared.policy, &reactor.policy_copy, &lookup.request):
        return False
    lookup.frame, lookup.size, lookup.was_deferred = frame, size, was_deferred
    compose(reactor, connection, &lookup, &written)
    while written.size == NO_ROOM:
        if reactor.written.size:
            send_written(reactor, connection)
        elif not make_room(&reactor.written, reactor.written.room * 2):  # it stays as large as the largest answer
            return False
        compose(reactor, connection, &lookup, &written)
    if written.size == HANDED_OVER:
        return False
    if written.size == DEFERRED:
        return True
    count_one(&connection.answered)
    count_one(&reactor.lookups[written.is_absent])
    if lookup.view:
        count_one(&reactor.of_views[lookup.view - 1])
    if connection.is_guarded:
        count_one(&reactor.signed_lookups)
    return True


cdef bint refuse(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Answer a frame SYSTEM_BUSY, if its sender waits for an answer. False: control has to do it.

    Earlier requests of the connection may wait at control. This one has no effect, so it need not wait for them.
    """
    cdef const Limits *limits = &reactor.shared.limits
    cdef RouteRequest request
    cdef bint is_read = False
    cdef uint8_t *out
    if connection.layout:  # a lookup like earlier ones needs no scan
        is_read = follows_layout(frame, size, &reactor.layouts[connection.layout - 1], &request)
    if not is_read and not read_request(frame, size, &request):
        return False
    if request.flag & UNANSWERED == 0:
        if reactor.written.size + HEAD_BYTES_MAX > reactor.written.room:
            send_written(reactor, connection)
        out = reactor.written.data + reactor.written.size
        size = <size_t>(put_error(
            out, SYSTEM_BUSY, request.opaque, limits.serialize_type, limits.version, TOO_MANY_REQUESTS, NULL
        ) - out)
        reactor.written.size += size
        reactor.turn_bytes += size
    return True

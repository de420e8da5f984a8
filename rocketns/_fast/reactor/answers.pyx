"""Answering lookups: recognised by the layout of earlier ones, written into the reactor's scratch, sent together.

Requests beyond the rate of their host are answered SYSTEM_BUSY here, so that control and the tables see none of them.
A lookup without a route may be deferred: see answers.pxd.

Bytes go to the socket as they are, or as records of TLS. What the socket does not take waits in the connection's output,
as records. So a connection with unsent answers is the same with and without TLS.

All functions are for the reactor's thread.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from rocketns._fast.access.networks cimport ADDRESS_BYTES, first_flags_of, is_ipv4
from rocketns._fast.access.policy cimport may_look_up
from rocketns._fast.codec.compact_json cimport Text
from rocketns._fast.codec.replies cimport HEAD_BYTES_MAX, SYSTEM_BUSY, TOO_MANY_REQUESTS, put_error
from rocketns._fast.codec.requests cimport (
    UNANSWERED, RouteRequest, follows_layout, learn_layout, read_request, recognise_request
)
from rocketns._fast.codec.wire cimport HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, read_uint32
from rocketns._fast.connections.connection cimport SENT_AT_ONCE_MAX, output_space, unsent
from rocketns._fast.connections.hosts cimport HOSTS, OF_KNOWN, OF_STRANGERS, may_ask as host_may_ask
from rocketns._fast.connections.messages cimport LOOKED_UP, Message, new_message, push
from rocketns._fast.reactor.reactor_state cimport (
    DEFERRED_MAX, EPOCHS, LAYOUTS, SCRATCH_BYTES, SEALED_AT_ONCE_MAX, Limits, assert_reactor, id_of
)
from rocketns._fast.routes.asked_topics cimport HOST_NUMBERS, count_lookup, note_missed
from rocketns._fast.routes.slots cimport HANDED_OVER, NO_ROOM, Answer, Routes, write_answer
from rocketns._fast.system.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, monotonic_ms, send
from rocketns._fast.system.threads cimport add, assert_equal, count_one, load, pthread_mutex_lock, pthread_mutex_unlock
from rocketns._fast.tls.openssl cimport HAS_FAILED, IS_DONE, open_records, openssl, seal, seal_end


cdef void send_bytes(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send them as they are, behind what is unsent."""
    cdef size_t sent = 0, at_once = min(size, <size_t>SENT_AT_ONCE_MAX)
    cdef ssize_t taken
    cdef uint8_t *space
    while sent < at_once and unsent(connection) == 0 and not connection.is_failed:
        taken = send(connection.fd, data + sent, at_once - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
        if taken >= 0:
            sent += <size_t>taken
        elif errno == EAGAIN:
            break
        elif errno != EINTR:
            connection.is_failed = True
    if sent < size and not connection.is_failed:
        space = output_space(connection, size - sent)
        if space == NULL:
            connection.is_failed = True
        else:
            memcpy(space, data + sent, size - sent)
            connection.output_end += size - sent


cdef void send_wire(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send the records that OpenSSL wrote."""
    if reactor.wire.outgoing_size:
        send_bytes(reactor, connection, reactor.wire.outgoing, reactor.wire.outgoing_size)
        reactor.wire.outgoing_size = 0


cdef void send_answers(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send plain text, as records where the connection has TLS."""
    cdef size_t part
    if connection.tls == NULL:
        send_bytes(reactor, connection, data, size)
        return
    while size and not connection.is_failed:
        part = min(size, <size_t>SEALED_AT_ONCE_MAX)
        if not seal(connection.tls, &reactor.wire, data, part):
            connection.is_failed = True
        send_wire(reactor, connection)
        data += part
        size -= part


cdef void send_end(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Say that nothing more comes, if the socket takes it at once."""
    if connection.tls != NULL:
        seal_end(connection.tls, &reactor.wire)
        send_wire(reactor, connection)


cdef size_t input_memory(const Connection *connection) noexcept nogil:
    """Reactor thread only. The memory of the waiting input; also that of a record in OpenSSL which is not whole."""
    cdef size_t size = connection.input_start + connection.input_size
    if connection.tls != NULL and openssl.SSL_has_pending(connection.tls):
        size += UNFINISHED_RECORD_MAX
    return size


cdef Progress open_received(
    Reactor *reactor, Connection *connection, size_t received, uint8_t *plain, size_t room, size_t *got
) noexcept nogil:
    """Reactor thread only. The plain text of so many bytes in `scratch_received`.

    ``room`` is at least UNFINISHED_RECORD_MAX larger than ``received``.
    """
    cdef Progress progress
    reactor.wire.incoming, reactor.wire.incoming_size = reactor.scratch_received, received
    progress = open_records(connection.tls, &reactor.wire, plain, room, got)
    send_wire(reactor, connection)  # a reply to what the records ask for, or an alert
    reactor.wire.incoming_size = 0
    if progress == IS_DONE:
        progress = HAS_FAILED  # more plain text than records: impossible
    if progress == HAS_FAILED:
        openssl.ERR_clear_error()
    return progress


assert_equal(HOST_NUMBERS, HOSTS)

cdef enum:
    DEFERRED_OF_HOST_MAX = 16
    DEFERRED_BYTES_MAX = 4096  # of one frame
    THIS_ROUND = -2
    NEXT_ROUND = -1


cdef bint is_applied(const Shared *shared, int64_t epoch) noexcept nogil:
    """Any thread. Whether all frames of this epoch and of earlier ones have ended.

    Control notes whole epochs when a turn of its is over. In the last one nothing arrives while control has nothing to
    do.
    """
    cdef int64_t applied = load(&shared.applied)
    return applied >= epoch or (applied == epoch - 1 and load(&shared.arriving[epoch % EPOCHS]) == 0)


cdef bint defer(Reactor *reactor, const Connection *connection, const uint8_t *frame, size_t size) noexcept nogil:
    """Reactor thread only. Keep a copy of a lookup for `next_due`; False where it is to be answered at once.

    `deferred` is raised before `next_due` reads `applied`, and control writes `applied` before it reads `deferred`: so
    at least one of the two sees what the other wrote, and nobody waits for a wake-up that does not come.
    """
    cdef Deferred *kept
    cdef uint16_t host = connection.host
    if is_applied(reactor.shared, load(&reactor.shared.epoch)) and not reactor.has_accepted:
        return False
    if reactor.deferred_count == DEFERRED_MAX or size > DEFERRED_BYTES_MAX:
        return False
    if load(&reactor.shared.hosts.hosts[host].deferred) >= DEFERRED_OF_HOST_MAX:
        return False
    kept = &reactor.deferred[(reactor.first_deferred + reactor.deferred_count) % DEFERRED_MAX]
    kept.frame = <uint8_t *>malloc(size)
    if kept.frame == NULL:
        return False
    memcpy(kept.frame, frame, size)
    kept.connection, kept.size, kept.host = id_of(reactor, connection), <uint32_t>size, host
    kept.behind, kept.until_ms = THIS_ROUND, monotonic_ms() + reactor.shared.limits.deferred_ms_max
    reactor.deferred_count += 1
    add(&reactor.shared.hosts.hosts[host].deferred, 1)
    add(&reactor.shared.deferred, 1)
    return True


cdef int deferred_wait_ms(const Reactor *reactor) noexcept nogil:
    """Reactor thread only. How long epoll may block for the sake of the deferred lookups; -1 is for ever."""
    cdef const Deferred *last
    if reactor.deferred_count == 0:
        return -1
    last = &reactor.deferred[(reactor.first_deferred + reactor.deferred_count - 1) % DEFERRED_MAX]
    if last.behind < 0:
        return 0
    return <int>max(<int64_t>0, reactor.deferred[reactor.first_deferred].until_ms - monotonic_ms())


cdef void end_round(Reactor *reactor) noexcept nogil:
    """Reactor thread only. What was ready in this round has been read."""
    cdef uint32_t left = reactor.deferred_count
    cdef Deferred *kept
    reactor.has_accepted = False
    while left:
        left -= 1
        kept = &reactor.deferred[(reactor.first_deferred + left) % DEFERRED_MAX]
        if kept.behind >= 0:
            return
        kept.behind = NEXT_ROUND if kept.behind == THIS_ROUND else load(&reactor.shared.epoch)


cdef bint next_due(Reactor *reactor, Deferred *due) noexcept nogil:
    """Reactor thread only. Remove the lookup that is to be answered now; its frame is the caller's. False: there is none.
    """
    cdef const Deferred *first = &reactor.deferred[reactor.first_deferred]
    assert_reactor(reactor, "next_due")
    if reactor.deferred_count == 0:
        return False
    if (first.behind < 0 or not is_applied(reactor.shared, first.behind)) and monotonic_ms() < first.until_ms:
        return False
    due[0] = first[0]
    reactor.first_deferred = (reactor.first_deferred + 1) % DEFERRED_MAX
    reactor.deferred_count -= 1
    add(&reactor.shared.hosts.hosts[due.host].deferred, -1)
    add(&reactor.shared.deferred, -1)
    return True


cdef void free_deferred(Reactor *reactor) noexcept nogil:
    """Control only, after the thread ended."""
    while reactor.deferred_count:
        free(reactor.deferred[reactor.first_deferred].frame)
        reactor.first_deferred = (reactor.first_deferred + 1) % DEFERRED_MAX
        reactor.deferred_count -= 1


cdef extern from *:
    """
    /* Topics by which brokers find the members of their group: RocketMQ's TopicValidator. */
    static const char ROCKETNS_MEMBERS[] = "rmq_sys_SYNC_BROKER_MEMBER_";
    """
    const char *MEMBERS "ROCKETNS_MEMBERS"
    enum: MEMBERS_LENGTH "sizeof(ROCKETNS_MEMBERS) - 1"

cdef enum:
    SUBSCRIBER_BYTES = 8  # of an IPv6 address, as hosts.pyx counts them


cdef inline int choose_view(const Reactor *reactor, const Connection *connection) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The twin of ``rocketns.views.views.Views.through``."""
    cdef const Routes *routes = reactor.shared.routes
    cdef unsigned char address[ADDRESS_BYTES]
    cdef bint is_anybodys = connection.is_announced and not reactor.shared.limits.trusts_announced
    if connection.listener:
        return routes.view_of_listener[connection.listener]
    if not connection.peer.is_known and not is_anybodys:
        return 0
    memcpy(address, connection.peer.address, ADDRESS_BYTES)
    if is_anybodys and not is_ipv4(address):  # the socket's, see handshakes.announce
        memset(address + SUBSCRIBER_BYTES, 0, ADDRESS_BYTES - SUBSCRIBER_BYTES)
    return first_flags_of(routes.view_networks, address)


cdef inline int view_of(const Reactor *reactor, Connection *connection, const RouteRequest *request) noexcept nogil:
    """Reactor thread only, with `routes_mutex`. The number of the view that a lookup is answered for; 0: none."""
    cdef const Text *topic = &request.topic
    cdef const Routes *routes = reactor.shared.routes
    if routes.views == 0 or connection.is_known or request.wants_announced:
        return 0
    if connection.view_generation != routes.view_generation:
        connection.view, connection.view_generation = <unsigned char>choose_view(reactor, connection), routes.view_generation
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


cdef void send_scratch(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send the answers written so far; what the peer does not take waits in the connection."""
    send_answers(reactor, connection, reactor.scratch_out, reactor.out_size)
    reactor.out_size = 0


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
        note_missed(&reactor.missing, &lookup.request, answer.topic_hash, &connection.peer, connection.host,
                    id_of(reactor, connection))
    if reactor.counts.table != NULL and answer.size > 0:
        client = connection.address if reactor.shared.counts_clients else NULL
        count_lookup(&reactor.counts, &lookup.request, answer.topic_hash, client, connection.address_hash,
                     answer.is_absent)


cdef void compose(
    Reactor *reactor, Connection *connection, Lookup *lookup, uint8_t *out, size_t room, Answer *answer
) noexcept nogil:
    """Reactor thread only. Write the answer from ``out`` on."""
    pthread_mutex_lock(&reactor.routes_mutex)
    lookup.view = view_of(reactor, connection, &lookup.request)
    write_answer(reactor.shared.routes, &lookup.request, lookup.view, reactor.shared.limits.serialize_type,
                 reactor.shared.limits.version, out, room, answer)
    finish_lookup(reactor, connection, lookup, answer)
    pthread_mutex_unlock(&reactor.routes_mutex)
    if answer.size > 0:
        reactor.turn_bytes += <size_t>answer.size


cdef void answer_in_scratch(Reactor *reactor, Connection *connection, Lookup *lookup, Answer *answer) noexcept nogil:
    """Reactor thread only."""
    cdef size_t used = reactor.out_size
    compose(reactor, connection, lookup, reactor.scratch_out + used, SCRATCH_BYTES - used, answer)
    if answer.size > 0:
        reactor.out_size += <size_t>answer.size


cdef void answer_in_memory(Reactor *reactor, Connection *connection, Lookup *lookup, Answer *answer) noexcept nogil:
    """Reactor thread only. For an answer that is larger than the scratch. NO_ROOM where there is no memory."""
    cdef size_t room = SCRATCH_BYTES
    cdef uint8_t *space
    while answer.size == NO_ROOM:
        room *= 2
        space = <uint8_t *>malloc(room)
        if space == NULL:
            return
        compose(reactor, connection, lookup, space, room, answer)
        if answer.size > 0:
            send_answers(reactor, connection, space, <size_t>answer.size)
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
    if connection.is_guarded and not may_look_up(&reactor.known_policy, &lookup.request):
        return False
    lookup.frame, lookup.size, lookup.was_deferred = frame, size, was_deferred
    answer_in_scratch(reactor, connection, &lookup, &written)
    if written.size == NO_ROOM and reactor.out_size:
        send_scratch(reactor, connection)
        answer_in_scratch(reactor, connection, &lookup, &written)
    if written.size == NO_ROOM:
        answer_in_memory(reactor, connection, &lookup, &written)
    if written.size == HANDED_OVER or written.size == NO_ROOM:
        return False
    if written.size == DEFERRED:
        return True
    count_one(&connection.answered)
    count_one(&reactor.absent if written.is_absent else &reactor.answered)
    if lookup.view:
        count_one(&reactor.of_views[lookup.view - 1])
    if connection.is_guarded:
        count_one(&reactor.signed_lookups)
    return True


cdef bint may_ask(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take a token of the connection's host, unless its next frame has one."""
    cdef int bucket = OF_KNOWN if connection.is_known else OF_STRANGERS
    cdef const char *announced = connection.address if reactor.shared.limits.trusts_announced else NULL
    if connection.is_let_through:
        return True
    return host_may_ask(reactor.shared.hosts, connection.host, bucket, reactor.now_ms, announced, connection.fd)


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
        if reactor.out_size + HEAD_BYTES_MAX > SCRATCH_BYTES:
            send_scratch(reactor, connection)
        out = reactor.scratch_out + reactor.out_size
        size = <size_t>(put_error(
            out, SYSTEM_BUSY, request.opaque, limits.serialize_type, limits.version, TOO_MANY_REQUESTS, NULL
        ) - out)
        reactor.out_size += size
        reactor.turn_bytes += size
    return True


cdef size_t header_end(const uint8_t *frame, size_t size) noexcept nogil:
    """Any thread. Where the header of a whole frame ends; control needs no more of what it refuses."""
    return min(size, HEAD_BYTES + <size_t>(read_uint32(frame + HEADER_WORD_AT) & HEADER_LENGTH_MASK))

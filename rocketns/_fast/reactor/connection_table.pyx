"""The connections of a reactor: their table, what they hold, and which of them are closed.

The table is an array of descriptors. A connection's id holds its descriptor and a generation, which is never used
twice. A message to a closed connection finds another generation at the descriptor, or none, and is dropped.

Over the limit for all connections together, connections are closed:

- Connections from which a broker registered come last, while they hold no more than half of the limit.
- If a host holds more than an eighth of the limit, and more than one frame, it is a connection of that host. Else hosts
  do not matter: who holds more than all others may be a broker with a large registration.
- Of these it is the connection that has made no progress for the longest time.
- Where no host holds too much of OpenSSL's memory, handshakes are given up first: see `opening.reserve_handshake`.
- A connection that holds less than half of an even share is none of them: see `Limits.listed_bytes_min`. All such
  together hold less than half of the limit, so there is always another.

Each reactor publishes for each of its lists since when the first connection is without progress. The
thread that notices the excess closes its own connection if that is the one. Otherwise it asks the owner, who looks
again before it closes: the published numbers may have changed, and too many connections must not go.

A connection that is idle for its limit, or makes no progress for progressSeconds, is closed at any fill: the whole
connection table is checked for it, a part in each round of the loop.
"""

from libc.stdint cimport uint64_t, uint8_t
from libc.stdlib cimport free

from posix.unistd cimport close

from rocketns._fast.connections.connection cimport Ending, Stage, drop
from rocketns._fast.connections.hosts cimport BROKERS, KINDS, OUTPUT, STRANGERS, charge_host, release_host
from rocketns._fast.connections.messages cimport (
    Line, Message, MessageKind, enqueue, leave_ring, new_message, push, unlink
)
from rocketns._fast.reactor.reactor_state cimport (
    GENERATION_BITS, REACTOR_SHIFT, LargeConnections, Limits, assert_reactor, send_message
)
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLIN, EPOLLONESHOT, EPOLLOUT, asprintf, epoll_ctl, epoll_event
)
from rocketns._fast.system.threads cimport add, pthread_mutex_lock, pthread_mutex_unlock, store
from rocketns._fast.tls.openssl cimport openssl


cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Give it an id and wait for its events; False where the system has no memory."""
    cdef epoll_event event
    assert_reactor(reactor, "insert_connection")
    reactor.generation += 1
    connection.message.connection = (
        <uint64_t>reactor.number << REACTOR_SHIFT | <uint64_t>connection.fd << GENERATION_BITS | reactor.generation
    )
    connection.armed = EPOLLONESHOT if reactor.shakes_hands else EPOLLIN
    pthread_mutex_lock(&reactor.table_mutex)
    reactor.connections[connection.fd] = connection
    reactor.table_end = max(reactor.table_end, connection.fd + 1)
    pthread_mutex_unlock(&reactor.table_mutex)
    event.events, event.data.u64 = connection.armed, connection.message.connection
    if epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, connection.fd, &event) == 0:
        return True
    remove_connection(reactor, connection)
    return False


cdef void remove_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take it off the table, the totals, and the lists of large and of stalled connections."""
    cdef int kind
    assert_reactor(reactor, "remove_connection")
    for kind in range(KINDS):
        charge_bytes(reactor, kind, connection, 0)
    leave_ring(&reactor.waiting, &connection.message)
    pthread_mutex_lock(&reactor.table_mutex)
    reactor.connections[connection.fd] = NULL
    pthread_mutex_unlock(&reactor.table_mutex)


cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil:
    """The owner of the connection only. It is in no table. Close it, and free it: control does, if it is to hear of it.
    """
    close(connection.fd)
    if connection.tls != NULL:
        openssl.SSL_free(connection.tls)
    drop(&connection.input)
    drop(&connection.output)
    free(connection.address)
    if connection.message.kind == MessageKind.MOVE:
        release_host(shared.hosts, connection.message.host)
        add(&shared.connections, -1)
        free(connection)
        return
    connection.message.number = ending
    add(&shared.gone, 1)  # before it no longer counts as open
    add(&shared.hosts.hosts[connection.message.host].ended, 1)
    add(&shared.connections, -1)
    push(&shared.to_control, &connection.message)


cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Reactor thread only. The connection is gone afterwards. Control hears of it, unless it does not know the
    connection and its frames were to come, or nobody here decided to end it."""
    cdef const char *reason = b""
    cdef Message *message = &connection.message
    cdef int size
    if ending == Ending.TLS_FAILED:
        reason = reactor.wire.reason
    if connection.stage > Stage.CARRIED and ending not in (Ending.PEER_CLOSED, Ending.FAILED, Ending.ENDED):
        size = asprintf(<char **>&message.data, "%s%c%s", connection.address, 0, reason)
        if size >= 0:  # else control does not hear of it
            message.kind, message.size = MessageKind.REFUSED, <size_t>size
    remove_connection(reactor, connection)
    release_connection(reactor.shared, connection, ending)


cdef void move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil:
    """Reactor thread only. Give a connection of this reactor, which control does not know, to another thread."""
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL)
    remove_connection(reactor, connection)
    send_message(target, &connection.message)


cdef void list_last(Reactor *reactor, int kind, Connection *connection, bint is_many) noexcept nogil:
    """Reactor thread only. To the end of its list if it holds many bytes, else it is in none."""
    cdef LargeConnections *large = &reactor.large[kind]
    cdef Line *line = &large.lists[connection.is_broker][connection.message.host]
    cdef int64_t oldest_ms = 0
    if connection.links[kind].owner != NULL:
        unlink(line, &connection.links[kind])
    if is_many:
        enqueue(line, &connection.links[kind], connection)
    if line.first != NULL:
        oldest_ms = (<Connection *>line.first.owner).progress_ms[kind]
    store(&large.oldest_ms[connection.is_broker][connection.message.host], oldest_ms)


cdef void note_progress(Reactor *reactor, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Enough came, or was taken, or the peer was kept waiting until now."""
    connection.progress_ms[kind], connection.moved[kind] = reactor.now_ms, 0
    if connection.links[kind].owner != NULL:
        list_last(reactor, kind, connection, True)


cdef void set_charge(Reactor *reactor, int kind, Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes from now on. To be listed is progress."""
    cdef bint is_many = <int64_t>size >= reactor.shared.limits.listed_bytes_min[kind]
    cdef bint is_listed = connection.links[kind].owner != NULL
    charge_host(reactor.shared.hosts, kind, connection.is_broker, connection.message.host,
                <int64_t>size - <int64_t>connection.charged[kind])
    if connection.charged[kind] == 0 or (is_many and not is_listed):
        connection.progress_ms[kind], connection.moved[kind] = reactor.now_ms, 0
    connection.charged[kind] = size
    if is_many != is_listed:
        list_last(reactor, kind, connection, is_many)


cdef void note_broker(Reactor *reactor, Connection *connection, bint is_broker) noexcept nogil:
    """Reactor thread only. Whether a broker registered from it."""
    cdef int kind
    cdef size_t charged[KINDS]
    if connection.is_broker == is_broker:
        return
    for kind in range(KINDS):
        charged[kind] = connection.charged[kind]
        set_charge(reactor, kind, connection, 0)
    connection.is_broker = is_broker
    for kind in range(KINDS):
        if charged[kind]:
            set_charge(reactor, kind, connection, charged[kind])


cdef enum:
    CLOSED_AT_ONCE_MAX = 64  # the next turn, or round, goes on where that is not enough
    CHECKED_AT_ONCE_MAX = 4096  # in one round of the loop
    STAYS = -1  # in place of an Ending


cdef bint find_oldest(
    const Shared *shared, int kind, int owner, uint32_t first, uint32_t end, Victim *victim
) noexcept nogil:
    """Any thread. Look at the owner's lists, or those of ANY, of hosts from ``first`` to before ``end``: for all hosts
    some microseconds. False if there is no victim.
    """
    cdef int64_t oldest_ms = 0, since_ms
    cdef int each
    cdef uint32_t number
    for each in range(shared.reactor_count):
        if owner != ANY and owner != each:
            continue
        for number in range(first, end):
            since_ms = load(&shared.reactors[each].large[kind].oldest_ms[victim.party][number])
            if since_ms and (since_ms < oldest_ms or oldest_ms == 0):
                oldest_ms, victim.owner, victim.number = since_ms, each, number
    return oldest_ms != 0


cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil:
    """Any thread. Whether a connection of this owner, or of ANY, is to be closed now.

    If a greedy host brings nothing any more, its connections are soon the longest without progress.
    """
    cdef uint32_t host
    cdef bint found
    if excess(shared, kind) <= 0:
        return False
    victim.party = STRANGERS
    if load(&shared.hosts.broker_bytes[kind]) > shared.limits.charged_bytes_max[kind] // 2:
        victim.party = BROKERS
    host = greedy_host(shared, kind, victim.party)
    found = host < HOSTS and find_oldest(shared, kind, owner, host, host + 1, victim)
    if not found:
        found = find_oldest(shared, kind, owner, 0, HOSTS, victim)
    # Another thread may have closed the one before it meanwhile: first the total falls, then its list shows the next.
    return found and excess(shared, kind) > 0


cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil:
    """Any thread. Send one request; further ones are dropped until the owner has begun.

    The owner clears `asked` before it looks. A thread that notices an excess after that asks again, and one that
    noticed it before is served by the look that follows.
    """
    cdef Message *message
    if add(&shared.asked[kind], 1) != 1:
        return
    message = new_message(MessageKind.SHED, NULL, 0)
    if message == NULL:
        store(&shared.asked[kind], 0)
        return
    message.number = kind
    send_message(shared.reactors[owner], message)


cdef void shed(Reactor *reactor, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Close the connection, because all together hold too much."""
    cdef int ending = Ending.TOO_MUCH_UNSENT_IN_ALL if kind == OUTPUT else Ending.TOO_MUCH_UNFINISHED
    if kind == TLS and connection.stage > Stage.CARRIED:
        ending = Ending.STALLED_HANDSHAKE
    close_connection(reactor, connection, ending)


cdef Connection *relieve(Reactor *reactor, int kind, Connection *adding) noexcept nogil:
    """Reactor thread only. Close connections of this reactor while they are those to be closed.

    Far over the limit they need not be: nobody waits for another thread then, and ``adding``, which holds more than
    before, is closed where that is not enough. NULL where it is NULL or was closed; else ``adding``.
    """
    cdef Shared *shared = reactor.shared
    cdef Victim victim
    cdef Connection *connection
    cdef int owner
    assert_reactor(reactor, "relieve")
    for _ in range(CLOSED_AT_ONCE_MAX):
        if not find_victim(shared, kind, ANY, &victim):
            return adding
        owner = victim.owner
        if owner != reactor.number:
            ask_to_close(shared, kind, owner)
            if not is_far_over(shared, kind) or not find_victim(shared, kind, reactor.number, &victim):
                break
        connection = <Connection *>reactor.large[kind].lists[victim.party][victim.number].first.owner
        if connection == adding:
            adding = NULL
        shed(reactor, kind, connection)
    if adding != NULL and is_far_over(shared, kind) and adding.links[kind].owner != NULL:
        shed(reactor, kind, adding)
        return NULL
    return adding


cdef int overdue(const Reactor *reactor, const Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Why it is to be closed now; STAYS where it may stay.

    It could not finish closing for a round. Or its handshake takes too long; nobody is late while control makes the
    context. Or no byte came for its limit. Or it makes no progress: too little of the answers was taken, or too little
    of an unfinished frame came. A peer whose input is not read is not to blame for its frame, unless it reads no
    answers.
    """
    cdef const Limits *limits = &reactor.shared.limits
    cdef int64_t since_ms = now_ms - limits.progress_ms_max
    cdef uint32_t blamed = EPOLLIN | EPOLLOUT if connection.has_frames else EPOLLIN
    if connection.is_ending:
        return connection.ending if connection.ending_ms < now_ms else STAYS
    if connection.stage > Stage.CARRIED and connection.stage != Stage.WITHOUT_CONTEXT:
        if 0 < limits.handshake_ms_max <= now_ms - connection.began_ms:
            return Ending.STALLED_HANDSHAKE
    if 0 < connection.idle_ms_max <= now_ms - connection.active_ms:
        return Ending.IDLE
    if limits.progress_ms_max == 0:
        return STAYS
    if connection.charged[OUTPUT] and connection.progress_ms[OUTPUT] <= since_ms:
        return Ending.STALLED_ANSWERS
    if connection.charged[INPUT] and connection.progress_ms[INPUT] <= since_ms and connection.armed & blamed:
        return Ending.STALLED_FRAME
    return STAYS


cdef void close_some_idle(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Check some of the connections that are still to be checked."""
    cdef Connection *connection
    cdef int closed = 0, ending
    for _ in range(CHECKED_AT_ONCE_MAX):
        if reactor.idle_left == 0 or closed == CLOSED_AT_ONCE_MAX:
            return
        reactor.idle_left -= 1
        connection = reactor.connections[reactor.idle_left]
        if connection == NULL:
            continue
        ending = overdue(reactor, connection, reactor.idle_at_ms)
        if ending != STAYS:
            close_connection(reactor, connection, ending)
            closed += 1

"""Over the limit for all connections together, connections are closed: which, and who closes them.

- Connections from which a broker registered come last, while they hold no more than half of the limit.
- If a host holds more than an eighth of the limit, and more than one frame, it is a connection of that host. Else hosts
  do not matter: who holds more than all others may be a broker with a large registration.
- Of these it is the connection that has made no progress for the longest time.
- Where no host holds too much of OpenSSL's memory, handshakes are given up first: see `handshakes.hold_handshake`.
- A connection that holds less than half of an even share is none of them: see `Limits.listed_bytes_min`. All such
  together hold less than half of the limit, so there is always another.

Each reactor publishes for each of its lists since when the first connection is without progress. The
thread that notices the excess closes its own connection if that is the one. Otherwise it asks the owner, who looks
again before it closes: the published numbers may have changed, and too many connections must not go.

A connection that is idle for its limit, or makes no progress for progressSeconds, is closed at any fill: the whole
connection table is checked for it, a part in each round of the loop.
"""

from rocketns._fast.connections.connection cimport (
    CARRIED, IDLE, PEER_CLOSED, STALLED_ANSWERS, STALLED_FRAME, STALLED_HANDSHAKE, TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT_IN_ALL, WITHOUT_CONTEXT
)
from rocketns._fast.connections.hosts cimport KNOWN, OUTPUT, STRANGERS
from rocketns._fast.connections.messages cimport SHED, Message, new_message
from rocketns._fast.reactor.connection_table cimport close_connection, refuse_connection
from rocketns._fast.reactor.reactor_state cimport assert_reactor, send_message
from rocketns._fast.system.sockets cimport EPOLLIN, EPOLLOUT
from rocketns._fast.system.threads cimport add, store

cdef enum:
    CLOSED_AT_ONCE_MAX = 64  # the next turn, or round, goes on where that is not enough


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
            since_ms = load(&shared.reactors[each].holders[kind].oldest_ms[victim.known][number])
            if since_ms and (since_ms < oldest_ms or oldest_ms == 0):
                oldest_ms, victim.owner, victim.number = since_ms, each, number
    return oldest_ms != 0


cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil:
    """Any thread. Whether a connection of this owner, or of ANY, is to be closed now.

    If a greedy host brings nothing any more, its connections are soon the longest without progress.
    """
    cdef uint32_t host
    if excess(shared, kind) <= 0:
        return False
    victim.known = STRANGERS
    if load(&shared.hosts.known_bytes[kind]) > shared.limits.held_bytes_max[kind] // 2:
        victim.known = KNOWN
    host = greedy_host(shared, kind, victim.known)
    if host < HOSTS and find_oldest(shared, kind, owner, host, host + 1, victim):
        return True
    return find_oldest(shared, kind, owner, 0, HOSTS, victim)


cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil:
    """Any thread. Send one request; further ones are dropped until the owner has begun.

    The owner clears `asked` before it looks. A thread that notices an excess after that asks again, and one that
    noticed it before is served by the look that follows.
    """
    cdef Message *message
    if add(&shared.asked[kind], 1) != 1:
        return
    message = new_message(SHED, 0)
    if message == NULL:
        store(&shared.asked[kind], 0)
        return
    message.number = kind
    send_message(shared.reactors[owner], message)


cdef void shed(Reactor *reactor, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Close the connection, because all together hold too much."""
    cdef int ending = TOO_MUCH_UNSENT_IN_ALL if kind == OUTPUT else TOO_MUCH_UNFINISHED
    if connection.stage == CARRIED:
        close_connection(reactor, connection, ending)
    else:
        refuse_connection(reactor, connection, STALLED_HANDSHAKE if kind == TLS else ending, b"")


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
        connection = reactor.holders[kind].lists[victim.known][victim.number].first
        if connection == adding:
            adding = NULL
        shed(reactor, kind, connection)
    if adding != NULL and is_far_over(shared, kind) and adding.is_listed[kind]:
        shed(reactor, kind, adding)
        return NULL
    return adding


cdef enum:
    # In one round of the loop.
    CHECKED_AT_ONCE_MAX = 4096


cdef inline int stalled(const Reactor *reactor, const Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. STALLED_FRAME where too little of an unfinished frame came, STALLED_ANSWERS where too little
    of the answers was taken; else PEER_CLOSED. A peer whose input is not read is not to blame for its frame, unless it
    reads no answers."""
    cdef uint32_t blamed = EPOLLIN | EPOLLOUT if connection.has_frames else EPOLLIN
    cdef int64_t since_ms = now_ms - reactor.shared.limits.progress_ms_max
    if reactor.shared.limits.progress_ms_max == 0:
        return PEER_CLOSED
    if connection.held[OUTPUT] and connection.progress_ms[OUTPUT] <= since_ms:
        return STALLED_ANSWERS
    if connection.held[INPUT] and connection.progress_ms[INPUT] <= since_ms and connection.armed & blamed:
        return STALLED_FRAME
    return PEER_CLOSED


cdef bint is_late(const Reactor *reactor, const Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Whether its handshake takes too long. Nobody is late while control makes the context."""
    cdef int64_t most_ms = reactor.shared.limits.handshake_ms_max
    if connection.stage == CARRIED or connection.stage == WITHOUT_CONTEXT or most_ms == 0:
        return False
    return now_ms - connection.began_ms >= most_ms


cdef bint close_if_idle(Reactor *reactor, Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Close it if no byte came for its limit, if it makes no progress, or if it could not finish
    closing for a round."""
    cdef int ending
    if connection.is_ending:
        if connection.ending_ms >= now_ms:
            return False
        close_connection(reactor, connection, connection.ending)
        return True
    if is_late(reactor, connection, now_ms):
        refuse_connection(reactor, connection, STALLED_HANDSHAKE, b"")
        return True
    ending = IDLE if 0 < connection.idle_ms_max <= now_ms - connection.active_ms else stalled(reactor, connection, now_ms)
    if ending != PEER_CLOSED and connection.stage != CARRIED:
        refuse_connection(reactor, connection, ending, b"")
    elif ending != PEER_CLOSED:
        close_connection(reactor, connection, ending)
    return ending != PEER_CLOSED


cdef void close_some_idle(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Check some of the connections that are still to be checked."""
    cdef int closed = 0
    for _ in range(CHECKED_AT_ONCE_MAX):
        if reactor.idle_left == 0 or closed == CLOSED_AT_ONCE_MAX:
            return
        reactor.idle_left -= 1
        if reactor.connections[reactor.idle_left] != NULL:
            closed += close_if_idle(reactor, reactor.connections[reactor.idle_left], reactor.idle_at_ms)


cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Begin to check all connections; a check under way goes on where it is."""
    reactor.idle_at_ms = now_ms
    if reactor.idle_left == 0:
        reactor.idle_left = reactor.table_count
    close_some_idle(reactor)

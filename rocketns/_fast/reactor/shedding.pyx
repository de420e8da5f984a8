"""Over the limit for all connections together, connections are closed: which, and who closes them.

- Connections from which a broker registered come last, while they hold no more than half of the limit.
- If a host holds more than an eighth of the limit, and more than one frame, it is a connection of that host. Else hosts do not matter: who holds more than all others may be a broker with a large registration.
- Of these it is the connection that has made no progress for the longest time.
- A connection that holds less than half of an even share is none of them: see `Limits.listed_bytes_min`. All such
  together hold less than half of the limit, so there is always another.

Each reactor publishes for each of its lists since when the first connection is without progress. The
thread that notices the excess closes its own connection if that is the one. Otherwise it asks the owner, who looks
again before it closes: the published numbers may have changed, and too many connections must not go.
"""

from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.system.atomics cimport add, load, store
from rocketns._fast.connections.connection cimport INPUT
from rocketns._fast.connections.holders cimport OF_ALL
from rocketns._fast.connections.hosts cimport KNOWN, STRANGERS, Hosts
from rocketns._fast.connections.messages cimport (
    SHED, TOO_MUCH_UNFINISHED, TOO_MUCH_UNSENT_IN_ALL, Message, new_message
)
from rocketns._fast.reactor.connection_table cimport close_connection
from rocketns._fast.reactor.reactor_state cimport assert_reactor, send_message

cdef enum:
    CLOSED_AT_ONCE_MAX = 64  # the next turn goes on where that is not enough


cdef bint find_oldest(const Shared *shared, int kind, Victim *victim, uint32_t number, int owner) noexcept nogil:
    """Any thread. Look at this list of the owner's, or of ANY. False if there is no victim."""
    cdef int64_t oldest_ms = 0, since_ms
    cdef int each
    for each in range(shared.reactor_count):
        if owner != ANY and owner != each:
            continue
        since_ms = load(&shared.reactors[each].holders[kind].oldest_ms[victim.known][number])
        if since_ms and (since_ms < oldest_ms or oldest_ms == 0):
            oldest_ms, victim.owner, victim.number = since_ms, each, number
    return oldest_ms != 0


cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil:
    """Any thread. Whether a connection of this owner, or of ANY, is to be closed now.

    A host that holds more than its bound was the largest when its last bytes came, unless another was. If it brings
    nothing any more, its connections are soon the longest without progress.
    """
    cdef const Hosts *table = shared.hosts
    cdef int64_t host
    if excess(shared, kind) <= 0:
        return False
    victim.known = KNOWN if load(&table.known_bytes[kind]) > shared.limits.held_bytes_max[kind] // 2 else STRANGERS
    host = load(&table.largest[kind][victim.known])
    if load(&table.hosts[host].held_bytes[kind][victim.known]) > shared.limits.host_bytes_max[kind]:
        if find_oldest(shared, kind, victim, <uint32_t>host, owner):
            return True
    return find_oldest(shared, kind, victim, OF_ALL, owner)


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
    close_connection(reactor, connection, TOO_MUCH_UNFINISHED if kind == INPUT else TOO_MUCH_UNSENT_IN_ALL)


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

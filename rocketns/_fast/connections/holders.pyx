"""The connections that hold many bytes, in lists by host. A connection goes to the end of its list with each progress.

So the first of a list is the one without progress for the longest time, and each change costs the same, however many
connections there are. All functions are for the thread of the lists' reactor.
"""

from rocketns._fast.connections.connection cimport INPUT
from rocketns._fast.system.atomics cimport store


cdef inline void publish(Holders *holders, int kind, const Connection *connection) noexcept nogil:
    """Reactor thread only. Other threads may read a value that is a moment old: see shedding.pyx."""
    cdef int known = connection.is_known
    cdef const Connection *first = holders.first[known][connection.host]
    store(&holders.ages.oldest_ms[known][connection.host], 0 if first == NULL else first.progress_ms[kind])


cdef void enlist(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Append it to the list of its host."""
    cdef Connection **last = &holders.last[connection.is_known][connection.host]
    connection.older[kind], connection.newer[kind] = last[0], NULL
    if last[0] == NULL:
        holders.first[connection.is_known][connection.host] = connection
        publish(holders, kind, connection)
    else:
        last[0].newer[kind] = connection
    last[0] = connection
    connection.is_listed[kind] = True


cdef void strike(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Remove it from the list of its host."""
    cdef Connection *older = connection.older[kind]
    cdef Connection *newer = connection.newer[kind]
    if newer == NULL:
        holders.last[connection.is_known][connection.host] = older
    else:
        newer.older[kind] = older
    connection.is_listed[kind] = False
    if older != NULL:
        older.newer[kind] = newer
    else:
        holders.first[connection.is_known][connection.host] = newer
        publish(holders, kind, connection)


cdef void note_progress(Holders *holders, int kind, Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Enough came, or was taken, or the peer was kept waiting until now."""
    connection.progress_ms[kind], connection.moved[kind] = now_ms, 0
    if connection.is_listed[kind]:
        strike(holders, kind, connection)
        enlist(holders, kind, connection)


cdef void hold(Holders *holders, int kind, Connection *connection, size_t size, int64_t now_ms) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes from now on. To be listed is progress."""
    cdef bint is_many = <int64_t>size >= holders.totals.listed_bytes_min
    add_held(holders.totals, connection.is_known, connection.host,
             <int64_t>size - <int64_t>connection.held[kind])
    if connection.held[kind] == 0 or (is_many and not connection.is_listed[kind]):
        connection.progress_ms[kind], connection.moved[kind] = now_ms, 0
    connection.held[kind] = size
    if is_many and not connection.is_listed[kind]:
        enlist(holders, kind, connection)
    elif connection.is_listed[kind] and not is_many:
        strike(holders, kind, connection)


cdef void note_known(Holders *holders, Connection *connection, bint is_known, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Whether a broker registered from it. ``holders``: those of both kinds, one after the other.
    """
    cdef int kind
    cdef size_t held[2]
    if connection.is_known == is_known:
        return
    for kind in range(2):
        held[kind] = connection.held[kind]
        hold(&holders[kind], kind, connection, 0, now_ms)
    if connection.tls_held:
        add_held(holders[INPUT].totals, connection.is_known, connection.host, -<int64_t>connection.tls_held)
        add_held(holders[INPUT].totals, is_known, connection.host, connection.tls_held)
    connection.is_known = is_known
    for kind in range(2):
        if held[kind]:
            hold(&holders[kind], kind, connection, held[kind], now_ms)

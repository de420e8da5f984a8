"""The connections that hold many bytes, in lists. A connection goes to the end of its lists with each progress.

So the first of a list is the one without progress for the longest time, and each change costs the same, however many
connections there are. All functions are for the thread of the lists' reactor.
"""

from libc.stdint cimport uint16_t

from rocketns._fast.connections.connection cimport INPUT, Links
from rocketns._fast.connections.hosts cimport add_held
from rocketns._fast.system.atomics cimport store


cdef inline void publish(Holders *holders, int kind, int known, uint16_t number) noexcept nogil:
    """Reactor thread only. Other threads may read a value that is a moment old: see shedding.pyx."""
    cdef const Connection *first = holders.lists[known][number].first
    store(&holders.oldest_ms[known][number], 0 if first == NULL else first.progress_ms[kind])


cdef inline uint16_t number_of(const Connection *connection, int which) noexcept nogil:
    """Of its two lists."""
    return OF_ALL if which else connection.host


cdef void enlist(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Append it to its lists."""
    cdef ConnectionList *members
    cdef Links *links
    cdef int which
    for which in range(2):
        members = &holders.lists[connection.is_known][number_of(connection, which)]
        links = &connection.links[kind][which]
        links.older, links.newer = members.last, NULL
        if members.last == NULL:
            members.first = connection
            publish(holders, kind, connection.is_known, number_of(connection, which))
        else:
            members.last.links[kind][which].newer = connection
        members.last = connection
    connection.is_listed[kind] = True


cdef void strike(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Remove it from its lists."""
    cdef ConnectionList *members
    cdef Links *links
    cdef int which
    connection.is_listed[kind] = False
    for which in range(2):
        members = &holders.lists[connection.is_known][number_of(connection, which)]
        links = &connection.links[kind][which]
        if links.newer == NULL:
            members.last = links.older
        else:
            links.newer.links[kind][which].older = links.older
        if links.older != NULL:
            links.older.links[kind][which].newer = links.newer
        else:
            members.first = links.newer
            publish(holders, kind, connection.is_known, number_of(connection, which))


cdef void note_progress(Holders *holders, int kind, Connection *connection, int64_t now_ms) noexcept nogil:
    """Reactor thread only. Enough came, or was taken, or the peer was kept waiting until now."""
    connection.progress_ms[kind], connection.moved[kind] = now_ms, 0
    if connection.is_listed[kind]:
        strike(holders, kind, connection)
        enlist(holders, kind, connection)


cdef void hold(Holders *holders, int kind, Connection *connection, size_t size, int64_t now_ms) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes from now on. To be listed is progress."""
    cdef bint is_many = <int64_t>size >= holders.listed_bytes_min
    add_held(holders.table, kind, connection.is_known, connection.host,
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
        add_held(holders.table, INPUT, connection.is_known, connection.host, -<int64_t>connection.tls_held)
        add_held(holders.table, INPUT, is_known, connection.host, connection.tls_held)
    connection.is_known = is_known
    for kind in range(2):
        if held[kind]:
            hold(&holders[kind], kind, connection, held[kind], now_ms)

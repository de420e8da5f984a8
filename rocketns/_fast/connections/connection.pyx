"""The buffers of a connection, and the lists of those that hold many bytes.

Buffers exist only while something waits in them, so an idle connection costs its struct.

The connections that hold many bytes, in lists. A connection goes to the end of its list with each progress.

So the first of a list is the one without progress for the longest time, and each change costs the same, however many
connections there are.

All functions are for the thread of the connection's reactor.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from rocketns._fast.connections.hosts cimport OUTPUT, add_held
from rocketns._fast.system.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, send
from rocketns._fast.system.threads cimport assert_equal, store

# An idle connection takes this, its close notice and, where lookups are counted by client, its address.
assert_equal(sizeof(Connection), 376)
assert_equal(sizeof(Message), 72)

cdef enum:
    OUTPUT_MIN = 16384
    SMALL_INPUT_MAX = 4096


cdef bint keep_input(Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Keep ``data`` as the waiting input. False where there is no memory.

    ``data`` lies in the input buffer if there is one. It is not moved there, except that a small rest in a large buffer
    gets a buffer of its own.
    """
    cdef uint8_t *kept
    cdef size_t start
    if size == 0:
        drop_input(connection)
        return True
    if connection.input != NULL:
        start = <size_t>(data - connection.input)
        if start <= SMALL_INPUT_MAX or start // 4 <= size:
            connection.input_start, connection.input_size = start, size
            return True
    kept = <uint8_t *>malloc(size)
    if kept == NULL:
        return False
    memcpy(kept, data, size)
    free(connection.input)
    connection.input, connection.input_start, connection.input_size, connection.input_room = kept, 0, size, size
    return True


cdef bint make_input_room(Connection *connection, size_t wanted) noexcept nogil:
    """Reactor thread only. Move the input to the start of the buffer, and make room for ``wanted`` bytes in all."""
    cdef uint8_t *grown
    if connection.input_start:
        memmove(connection.input, connection.input + connection.input_start, connection.input_size)
        connection.input_start = 0
    if wanted <= connection.input_room:
        return True
    grown = <uint8_t *>realloc(connection.input, wanted)
    if grown == NULL:
        return False
    connection.input, connection.input_room = grown, wanted
    return True


cdef void drop_input(Connection *connection) noexcept nogil:
    """Reactor thread only."""
    free(connection.input)
    connection.input = NULL
    connection.input_start = connection.input_size = connection.input_room = 0


cdef uint8_t *output_space(Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. Room for ``size`` bytes at the end of the output; NULL if there is no memory."""
    cdef size_t waiting = unsent(connection), room
    cdef uint8_t *grown
    if connection.output_room - connection.output_end < size:
        if connection.output_start:
            memmove(connection.output, connection.output + connection.output_start, waiting)
            connection.output_start, connection.output_end = 0, waiting
        if connection.output_room - waiting < size:
            room = max(waiting + size, connection.output_room * 2, <size_t>OUTPUT_MIN)
            grown = <uint8_t *>realloc(connection.output, room)
            if grown == NULL:
                return NULL
            connection.output, connection.output_room = grown, room
    return connection.output + connection.output_end


cdef void drop_output(Connection *connection) noexcept nogil:
    """Reactor thread only."""
    free(connection.output)
    connection.output = NULL
    connection.output_start = connection.output_end = connection.output_room = 0


cdef bint send_output(Connection *connection) noexcept nogil:
    """Reactor thread only. Send what the peer takes, up to SENT_AT_ONCE_MAX; False where the connection failed."""
    cdef ssize_t sent
    cdef size_t left = min(unsent(connection), <size_t>SENT_AT_ONCE_MAX)
    while left:
        sent = send(connection.fd, connection.output + connection.output_start, left, MSG_NOSIGNAL | MSG_DONTWAIT)
        if sent < 0:
            if errno == EINTR:
                continue
            return errno == EAGAIN
        connection.output_start += <size_t>sent
        connection.moved[OUTPUT] += <uint32_t>sent
        left -= <size_t>sent
    if unsent(connection) == 0:
        drop_output(connection)
    return True


cdef inline void publish(Holders *holders, int kind, const Connection *connection) noexcept nogil:
    """Reactor thread only. Other threads may read a value that is a moment old: see evicting.pyx."""
    cdef const Connection *first = holders.lists[connection.is_known][connection.host].first
    store(&holders.oldest_ms[connection.is_known][connection.host], 0 if first == NULL else first.progress_ms[kind])


cdef void enlist(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Append it to its list."""
    cdef ConnectionList *members = &holders.lists[connection.is_known][connection.host]
    cdef Links *links = &connection.links[kind]
    links.older, links.newer = members.last, NULL
    if members.last == NULL:
        members.first = connection
        publish(holders, kind, connection)
    else:
        members.last.links[kind].newer = connection
    members.last = connection
    connection.is_listed[kind] = True


cdef void strike(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Remove it from its list."""
    cdef ConnectionList *members = &holders.lists[connection.is_known][connection.host]
    cdef Links *links = &connection.links[kind]
    connection.is_listed[kind] = False
    if links.newer == NULL:
        members.last = links.older
    else:
        links.newer.links[kind].older = links.older
    if links.older != NULL:
        links.older.links[kind].newer = links.newer
    else:
        members.first = links.newer
        publish(holders, kind, connection)


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
    """Reactor thread only. Whether a broker registered from it. ``holders``: those of all kinds, one after the other.
    """
    cdef int kind
    cdef size_t held[KINDS]
    if connection.is_known == is_known:
        return
    for kind in range(KINDS):
        held[kind] = connection.held[kind]
        hold(&holders[kind], kind, connection, 0, now_ms)
    connection.is_known = is_known
    for kind in range(KINDS):
        if held[kind]:
            hold(&holders[kind], kind, connection, held[kind], now_ms)

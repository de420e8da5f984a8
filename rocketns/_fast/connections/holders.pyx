"""A heap of the connections that hold bytes: the largest is found at once, and a change costs a logarithm.

An idle connection is not in it.
"""

from libc.stdlib cimport realloc

from rocketns._fast.system.atomics cimport store

cdef enum:
    ROOM_MIN = 64


cdef inline void put(Holders *holders, int kind, uint32_t place, Holder holder) noexcept nogil:
    holders.heap[place] = holder
    holder.connection.heap_index[kind] = place + 1


cdef void rise(Holders *holders, int kind, uint32_t place) noexcept nogil:
    cdef Holder holder = holders.heap[place]
    cdef uint32_t parent
    while place:
        parent = (place - 1) // 2
        if holders.heap[parent].bytes >= holder.bytes:
            break
        put(holders, kind, place, holders.heap[parent])
        place = parent
    put(holders, kind, place, holder)


cdef void sink(Holders *holders, int kind, uint32_t place) noexcept nogil:
    cdef Holder holder = holders.heap[place]
    cdef uint32_t child = 2 * place + 1
    while child < holders.count:
        if child + 1 < holders.count and holders.heap[child + 1].bytes > holders.heap[child].bytes:
            child += 1
        if holders.heap[child].bytes <= holder.bytes:
            break
        put(holders, kind, place, holders.heap[child])
        place = child
        child = 2 * place + 1
    put(holders, kind, place, holder)


cdef bint enter(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """The last place of the heap; False where there is no memory."""
    cdef Holder *heap
    cdef Holder holder
    cdef uint32_t room
    if holders.count == holders.room:
        room = max(2 * holders.room, <uint32_t>ROOM_MIN)
        heap = <Holder *>realloc(holders.heap, room * sizeof(Holder))
        if heap == NULL:
            return False
        holders.heap, holders.room = heap, room
    holder.bytes, holder.connection = 0, connection
    holders.count += 1
    put(holders, kind, holders.count - 1, holder)
    return True


cdef void leave(Holders *holders, int kind, Connection *connection) noexcept nogil:
    cdef uint32_t place = connection.heap_index[kind] - 1
    connection.heap_index[kind] = 0
    holders.count -= 1
    if place < holders.count:
        put(holders, kind, place, holders.heap[holders.count])
        rise(holders, kind, place)
        sink(holders, kind, place)


cdef bint hold(Holders *holders, int kind, Connection *connection, size_t size) noexcept nogil:
    """The connection holds so many bytes from now on; False where there is no memory to note it."""
    cdef uint32_t place
    if size == 0:
        if connection.heap_index[kind]:
            leave(holders, kind, connection)
    else:
        if not connection.heap_index[kind] and not enter(holders, kind, connection):
            return False
        place = connection.heap_index[kind] - 1
        holders.heap[place].bytes = size
        rise(holders, kind, place)
        sink(holders, kind, connection.heap_index[kind] - 1)
    store(&holders.largest, <int64_t>holders.heap[0].bytes if holders.count else 0)
    return True

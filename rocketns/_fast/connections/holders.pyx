"""A heap of the connections that hold bytes: the largest is at its top, and a change takes logarithmic time.

A connection without bytes is not in it. All functions are for the thread of the heap's reactor.
"""

from libc.stdlib cimport realloc

from rocketns._fast.system.atomics cimport store

cdef enum:
    ROOM_MIN = 64


cdef inline void put(Holders *holders, int kind, uint32_t index, Holder holder) noexcept nogil:
    """Reactor thread only."""
    holders.heap[index] = holder
    holder.connection.heap_index[kind] = index + 1


cdef void rise(Holders *holders, int kind, uint32_t index) noexcept nogil:
    """Reactor thread only. Swap with parents that hold less."""
    cdef Holder holder = holders.heap[index]
    cdef uint32_t parent
    while index:
        parent = (index - 1) // 2
        if holders.heap[parent].bytes >= holder.bytes:
            break
        put(holders, kind, index, holders.heap[parent])
        index = parent
    put(holders, kind, index, holder)


cdef void sink(Holders *holders, int kind, uint32_t index) noexcept nogil:
    """Reactor thread only. Swap with the larger child while it holds more."""
    cdef Holder holder = holders.heap[index]
    cdef uint32_t child = 2 * index + 1
    while child < holders.count:
        if child + 1 < holders.count and holders.heap[child + 1].bytes > holders.heap[child].bytes:
            child += 1
        if holders.heap[child].bytes <= holder.bytes:
            break
        put(holders, kind, index, holders.heap[child])
        index = child
        child = 2 * index + 1
    put(holders, kind, index, holder)


cdef bint enter(Holders *holders, int kind, Connection *connection) noexcept nogil:
    """Reactor thread only. Append to the heap; False where there is no memory."""
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
    """Reactor thread only. Remove from the heap; the last holder takes its place."""
    cdef uint32_t index = connection.heap_index[kind] - 1
    connection.heap_index[kind] = 0
    holders.count -= 1
    if index < holders.count:
        put(holders, kind, index, holders.heap[holders.count])
        rise(holders, kind, index)
        sink(holders, kind, index)


cdef bint hold(Holders *holders, int kind, Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes from now on; False where there is no memory.

    `largest` is published last. Another thread may read a value that is a moment old. It then asks the wrong owner, and
    the owner compares again before it closes anything: see shedding.pyx.
    """
    cdef uint32_t index
    if size == 0:
        if connection.heap_index[kind]:
            leave(holders, kind, connection)
    else:
        if not connection.heap_index[kind] and not enter(holders, kind, connection):
            return False
        index = connection.heap_index[kind] - 1
        holders.heap[index].bytes = size
        rise(holders, kind, index)
        sink(holders, kind, connection.heap_index[kind] - 1)
    store(&holders.largest, <int64_t>holders.heap[0].bytes if holders.count else 0)
    return True

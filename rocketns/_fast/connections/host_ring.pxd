"""Work that waits, by host: hosts take turns, and what waits of a host keeps its order.

So a host that queues much waits for itself. The same ring has messages to control, handshakes, and connections that wait
until control caught up. All functions are for the thread that owns the ring.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from rocketns._fast.connections.hosts cimport HOSTS

# The first member of what may wait, so that a pointer to it is a pointer to that.
cdef struct Queued:
    Queued *next
    Queued *previous
    uint16_t host  # HOSTS where it is nobody's
    bint is_waiting

cdef struct HostRing:
    Queued *first[HOSTS + 1]
    Queued *last[HOSTS + 1]
    uint8_t is_listed[HOSTS + 1]  # whether the host is in the ring
    uint16_t ring[HOSTS + 1]  # in the order of their turns; some have nothing left
    uint32_t ring_start
    uint32_t ring_size
    uint32_t taken  # in the present turn
    uint32_t waiting


cdef inline void list_host(HostRing *ring, uint16_t host) noexcept nogil:
    ring.is_listed[host] = True
    ring.ring[(ring.ring_start + ring.ring_size) % (HOSTS + 1)] = host
    ring.ring_size += 1


cdef inline void join_ring(HostRing *ring, Queued *queued, uint16_t host) noexcept nogil:
    """Wait behind the others of this host, unless it waits already."""
    if queued.is_waiting:
        return
    queued.is_waiting, queued.host = True, host
    queued.next, queued.previous = NULL, ring.last[host]
    if ring.last[host] == NULL:
        ring.first[host] = queued
    else:
        ring.last[host].next = queued
    ring.last[host] = queued
    ring.waiting += 1
    if not ring.is_listed[host]:
        list_host(ring, host)


cdef inline void leave_ring(HostRing *ring, Queued *queued) noexcept nogil:
    """Wait no longer. The host stays in the ring until its turn."""
    if not queued.is_waiting:
        return
    queued.is_waiting = False
    if queued.previous == NULL:
        ring.first[queued.host] = queued.next
    else:
        queued.previous.next = queued.next
    if queued.next == NULL:
        ring.last[queued.host] = queued.previous
    else:
        queued.next.previous = queued.previous
    queued.next = queued.previous = NULL
    ring.waiting -= 1


cdef inline Queued *take_turn(HostRing *ring, uint32_t most) noexcept nogil:
    """The first of the host whose turn it is, which waits no longer; NULL if nothing waits. A turn takes ``most``."""
    cdef Queued *queued
    cdef uint16_t host
    while ring.ring_size:
        host = ring.ring[ring.ring_start]
        queued = ring.first[host]
        if queued != NULL:
            leave_ring(ring, queued)
            ring.taken += 1
            if ring.taken < most and ring.first[host] != NULL:
                return queued
        ring.taken = 0
        ring.is_listed[host] = False
        ring.ring_start = (ring.ring_start + 1) % (HOSTS + 1)
        ring.ring_size -= 1
        if ring.first[host] != NULL:
            list_host(ring, host)
        if queued != NULL:
            return queued
    return NULL

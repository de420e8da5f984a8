"""The ring of a reactor's deferred lookups. They are due in the order in which they came."""

from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from rocketns._fast.reactor.reactor_state cimport DEFERRED_MAX, EPOCHS, assert_reactor, id_of
from rocketns._fast.system.atomics cimport add, load
from rocketns._fast.system.sockets cimport monotonic_ms

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

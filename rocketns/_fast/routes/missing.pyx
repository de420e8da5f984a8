"""Noting the topics without a route in `Missing`, and reading them."""

from libc.string cimport memcpy, memset

from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock


cdef uint32_t find_place(Missing *missing, uint64_t hash, uint16_t host) noexcept nogil:
    """Reactor thread only, with its mutex. The topic's place, or the one it takes; SETS * WAYS where it gets none."""
    cdef uint32_t first = <uint32_t>((hash >> 32) % SETS) * WAYS, place  # the lowest bit is always set
    cdef uint32_t free = SETS * WAYS
    for place in range(first, first + WAYS):
        if missing.hashes[place] == hash:
            return place
        if missing.hashes[place] == 0:
            free = place
    if free < SETS * WAYS:
        missing.used += 1
        return free
    missing.chance = missing.chance * <uint64_t>6364136223846793005 + hash
    place = first + <uint32_t>((missing.chance >> 33) % WAYS)
    if missing.of_host[missing.rows[place].host] < missing.of_host[host]:
        return SETS * WAYS
    missing.of_host[missing.rows[place].host] -= 1
    return place


cdef void note_missed(
    Missing *missing, const RouteRequest *request, uint64_t hash, const Peer *peer, uint16_t host, uint64_t connection
) noexcept nogil:
    """Reactor thread only, with its mutex. ``hash`` is the keyed one of the topic, ``host`` the number of the peer's.

    Only a peer with many names spends more than a look at eight hashes.
    """
    cdef uint32_t place
    cdef Missed *row
    hash |= 1
    if request.topic.length > TOPIC_BYTES_MAX or host >= HOST_NUMBERS:
        return
    place = find_place(missing, hash, host)
    if place == SETS * WAYS:
        return
    row = &missing.rows[place]
    if missing.hashes[place] != hash:
        missing.hashes[place] = hash
        missing.of_host[host] += 1
        row.lookups, row.host, row.topic_length = 0, host, <uint8_t>request.topic.length
        memcpy(row.topic, request.topic.start, request.topic.length)
    row.lookups += 1
    row.connection, row.peer = connection, peer[0]


cdef int take_missed(list rows, Missing *missing, pthread_mutex_t *mutex) except -1:
    """Control only. Empty the table. Rows are made of a copy, outside the mutex."""
    cdef Missing taken
    cdef const Missed *row
    pthread_mutex_lock(mutex)
    taken.used = missing.used
    if taken.used:
        taken = missing[0]
        memset(missing, 0, sizeof(Missing))
    pthread_mutex_unlock(mutex)
    if taken.used == 0:
        return 0
    for place in range(SETS * WAYS):
        row = &taken.rows[place]
        if taken.hashes[place]:
            topic = row.topic[:row.topic_length].decode("ascii")
            peer = row.peer.address[:sizeof(row.peer.address)] if row.peer.is_known else None
            rows.append((topic, row.lookups, row.connection, peer, row.host))
    return 0

"""The tables of `Counts` and `Missing`: noting lookups, and reading what was noted."""

from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strlen

from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 1024


cdef bint make_counts(Counts *counts, uint32_t keys_max) noexcept nogil:
    """Control only. An empty table; False where there is no memory."""
    counts.used = 0
    counts.rest_lookups = counts.rest_misses = 0
    counts.keys_max, counts.mask = keys_max, TABLE_MIN - 1
    counts.table = <Count *>calloc(TABLE_MIN, sizeof(Count))
    return counts.table != NULL


cdef void free_counts(Counts *counts) noexcept nogil:
    """Control only, on counts that no reactor has."""
    cdef uint32_t index
    if counts.table == NULL:
        return
    for index in range(counts.mask + 1):
        free(counts.table[index].topic)
    free(counts.table)
    counts.table = NULL


cdef Count *free_entry(Counts *counts, uint64_t hash) noexcept nogil:
    """Reactor thread only, with its mutex."""
    cdef uint32_t index = hash & counts.mask
    while counts.table[index].topic != NULL:
        index = (index + 1) & counts.mask
    return &counts.table[index]


cdef bint grow(Counts *counts) noexcept nogil:
    """Reactor thread only, with its mutex. Twice the size; False where there is no memory."""
    cdef Count *old = counts.table
    cdef uint32_t old_mask = counts.mask, index
    cdef Count *table = <Count *>calloc(<size_t>old_mask * 2 + 2, sizeof(Count))
    if table == NULL:
        return False
    counts.table, counts.mask = table, old_mask * 2 + 1
    for index in range(old_mask + 1):
        if old[index].topic != NULL:
            free_entry(counts, old[index].hash)[0] = old[index]
    free(old)
    return True


cdef Count *new_count(
    Counts *counts, uint64_t hash, const RouteRequest *request, const char *client
) noexcept nogil:
    """Reactor thread only, with its mutex. A place for a new key; NULL where there is none."""
    cdef Count *count
    cdef size_t length = request.topic.length, client_bytes = 0 if client == NULL else strlen(client) + 1
    cdef uint8_t *topic
    if counts.used >= counts.keys_max or (counts.used * 2 > counts.mask and not grow(counts)):
        return NULL
    topic = <uint8_t *>malloc(length + client_bytes)
    if topic == NULL:
        return NULL
    memcpy(topic, request.topic.start, length)
    if client != NULL:
        memcpy(topic + length, client, client_bytes)
    counts.used += 1
    count = free_entry(counts, hash)
    count.hash, count.topic, count.topic_length = hash, topic, <uint16_t>length
    count.client = NULL if client == NULL else <const char *>topic + length
    count.version, count.language_code = request.version, <int16_t>request.language_code
    return count


cdef int drain_counts(
    list rows, Counts *counts, pthread_mutex_t *mutex, int64_t *lookups, int64_t *misses
) except -1:
    """Control only. Tables are made and freed outside the mutex, which the reactor holds for each lookup."""
    cdef Counts old, new
    cdef const Count *count
    if not make_counts(&new, counts.keys_max):
        raise MemoryError
    pthread_mutex_lock(mutex)
    old = counts[0]
    counts[0] = new
    pthread_mutex_unlock(mutex)
    for index in range(old.mask + 1):
        count = &old.table[index]
        if count.topic != NULL:
            topic = count.topic[:count.topic_length].decode("ascii")
            client = None if count.client == NULL else count.client.decode("ascii", "replace")
            rows.append((topic, client, count.language_code, count.version, count.lookups, count.misses))
    lookups[0] += old.rest_lookups
    misses[0] += old.rest_misses
    free_counts(&old)
    return 0


cdef void note_missed(
    Missing *missing, const RouteRequest *request, uint64_t hash, const Peer *peer, uint16_t host, uint64_t connection
) noexcept nogil:
    """Reactor thread only, with its mutex. ``hash`` is the keyed one of the topic, ``host`` the number of the peer's
    host.

    Only a flood of names spends more than a look at some hashes.
    """
    cdef uint32_t index = 0
    cdef Missed *row
    if request.topic.length > TOPIC_BYTES_MAX:
        return
    while index < missing.count and missing.hashes[index] != hash:
        index += 1
    if index == MISSED_MAX:
        missing.chance = missing.chance * <uint64_t>6364136223846793005 + hash
        index = <uint32_t>((missing.chance >> 33) % MISSED_MAX)
        if missing.of_host[missing.rows[index].host] < missing.of_host[host]:
            return
        missing.of_host[missing.rows[index].host] -= 1
    elif index == missing.count:
        missing.count += 1
    row = &missing.rows[index]
    if missing.hashes[index] != hash:
        missing.hashes[index] = hash
        missing.of_host[host] += 1
        row.lookups, row.host, row.topic_length = 0, host, <uint8_t>request.topic.length
        memcpy(row.topic, request.topic.start, request.topic.length)
    row.lookups += 1
    row.connection, row.peer = connection, peer[0]


cdef int drain_missed(list rows, Missing *missing, pthread_mutex_t *mutex) except -1:
    """Control only. Empty the table. Rows are made of a copy, outside the mutex."""
    cdef Missing taken
    cdef const Missed *row
    pthread_mutex_lock(mutex)
    taken = missing[0]
    memset(missing, 0, sizeof(Missing))
    pthread_mutex_unlock(mutex)
    for index in range(taken.count):
        row = &taken.rows[index]
        topic = row.topic[:row.topic_length].decode("ascii")
        peer = row.peer.address[:sizeof(row.peer.address)] if row.peer.has_address else None
        rows.append((topic, row.lookups, row.connection, peer, row.host))
    return 0

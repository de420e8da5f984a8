"""Making, growing and freeing the tables of `Counts`."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strdup

from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 1024


cdef bint make_counts(Counts *counts, uint32_t keys_max, bint by_client) noexcept nogil:
    """Control only. An empty table; False where there is no memory."""
    counts.used = 0
    counts.rest_lookups = counts.rest_misses = 0
    counts.keys_max, counts.by_client = keys_max, by_client
    counts.mask = TABLE_MIN - 1
    counts.table = <Count *>calloc(TABLE_MIN, sizeof(Count))
    return counts.table != NULL


cdef void free_counts(Counts *counts) noexcept nogil:
    """Control only, on counts that no reactor has."""
    cdef uint32_t place
    if counts.table == NULL:
        return
    for place in range(counts.mask + 1):
        free(counts.table[place].topic)
        free(counts.table[place].client)
    free(counts.table)
    counts.table = NULL


cdef Count *free_place(Counts *counts, uint64_t hash) noexcept nogil:
    """Reactor thread only, with its mutex."""
    cdef uint32_t place = hash & counts.mask
    while counts.table[place].topic != NULL:
        place = (place + 1) & counts.mask
    return &counts.table[place]


cdef bint grow(Counts *counts) noexcept nogil:
    """Reactor thread only, with its mutex. Twice the size; False where there is no memory."""
    cdef Count *old = counts.table
    cdef uint32_t old_mask = counts.mask, place
    cdef Count *table = <Count *>calloc(<size_t>old_mask * 2 + 2, sizeof(Count))
    if table == NULL:
        return False
    counts.table, counts.mask = table, old_mask * 2 + 1
    for place in range(old_mask + 1):
        if old[place].topic != NULL:
            free_place(counts, old[place].hash)[0] = old[place]
    free(old)
    return True


cdef Count *new_count(
    Counts *counts, uint64_t hash, const RouteRequest *request, const char *client
) noexcept nogil:
    """Reactor thread only, with its mutex. A place for a new key; NULL where there is none."""
    cdef Count *count
    cdef uint8_t *topic
    cdef char *kept = NULL
    if counts.used >= counts.keys_max or (counts.used * 2 > counts.mask and not grow(counts)):
        return NULL
    topic = <uint8_t *>malloc(request.topic.length)
    if counts.by_client and client != NULL:
        kept = strdup(client)
    if topic == NULL or (counts.by_client and kept == NULL):
        free(topic)
        free(kept)
        return NULL
    memcpy(topic, request.topic.start, request.topic.length)
    counts.used += 1
    count = free_place(counts, hash)
    count.hash, count.topic, count.topic_length = hash, topic, <uint16_t>request.topic.length
    count.version, count.language_code, count.client = request.version, <int16_t>request.language_code, kept
    return count


cdef int add_rows(list rows, const Counts *counts) except -1:
    """Control only, on counts that no reactor has."""
    cdef const Count *count
    for place in range(counts.mask + 1):
        count = &counts.table[place]
        if count.topic != NULL:
            topic = count.topic[:count.topic_length].decode("ascii")
            client = None if count.client == NULL else count.client.decode("ascii", "replace")
            rows.append((topic, client, count.language_code, count.version, count.lookups, count.misses))
    return 0


cdef int take_counts(
    list rows, Counts *counts, pthread_mutex_t *mutex, int64_t *lookups, int64_t *misses
) except -1:
    """Control only. Tables are made and freed outside the mutex, which the reactor holds for each lookup."""
    cdef Counts old, new
    if not make_counts(&new, counts.keys_max, counts.by_client):
        raise MemoryError
    pthread_mutex_lock(mutex)
    old = counts[0]
    counts[0] = new
    pthread_mutex_unlock(mutex)
    add_rows(rows, &old)
    lookups[0] += old.rest_lookups
    misses[0] += old.rest_misses
    free_counts(&old)
    return 0

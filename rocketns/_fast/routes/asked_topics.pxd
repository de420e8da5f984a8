"""Counters of lookups by topic, kind of client and, if wanted, client: one table for each reactor, of bounded size.

A reactor counts with its `routes_mutex` held. Control swaps the table for an empty one under the same mutex, and reads
the full one afterwards, when no reactor has it.

The topics without a route that one reactor was asked for lately: a small table of fixed size.

Names are the peers'. Where all places are taken, a newcomer replaces one of them at random, if that one's host has as
many topics in the table as the newcomer's, or more. So a host that makes names up replaces its own.

A reactor notes with its `routes_mutex` held. Control copies and empties the table under the same mutex.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport Peer
from rocketns._fast.codec.requests cimport RouteRequest
from rocketns._fast.system.threads cimport pthread_mutex_t

cdef extern from *:
    """
    #include <stdint.h>
    /* Both halves of the product. Mixes a small number into words that are keyed hashes already. */
    static inline uint64_t rocketns_fold(uint64_t one, uint64_t other) {
        unsigned __int128 product = (unsigned __int128)one * other;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    """
    uint64_t fold "rocketns_fold"(uint64_t one, uint64_t other) noexcept nogil

# Keys are compared by their keyed 64-bit hash alone. client is NULL where counts are not kept by client.
cdef struct Count:
    uint64_t hash
    int64_t lookups
    int64_t misses
    int32_t version
    int16_t language_code
    uint16_t topic_length
    uint8_t *topic
    const char *client  # behind the topic's bytes

# Written by the reactor, under its `routes_mutex`. `rest_…` count what found no place: more keys than keys_max, or no
# memory.
cdef struct Counts:
    Count *table
    uint32_t mask
    uint32_t used
    uint32_t keys_max
    int64_t rest_lookups
    int64_t rest_misses

cdef bint make_counts(Counts *counts, uint32_t keys_max) noexcept nogil
cdef void free_counts(Counts *counts) noexcept nogil
cdef int drain_counts(
    list rows, Counts *counts, pthread_mutex_t *mutex, int64_t *lookups, int64_t *misses
) except -1
cdef Count *new_count(
    Counts *counts, uint64_t hash, const RouteRequest *request, const char *client
) noexcept nogil


cdef inline void count_lookup(
    Counts *counts, const RouteRequest *request, uint64_t topic_hash, const char *client, uint64_t client_hash,
    bint missed
) noexcept nogil:
    """Reactor thread only, with its mutex. ``client_hash`` is 0 where counts are not kept by client. Hashes are keyed.
    """
    cdef uint64_t kind = (<uint64_t><uint32_t>request.version << 16) ^ <uint16_t>request.language_code
    cdef uint64_t hash = fold(topic_hash ^ client_hash, kind | (<uint64_t>1 << 63))
    cdef uint32_t index = hash & counts.mask
    cdef Count *count
    while counts.table[index].lookups and counts.table[index].hash != hash:
        index = (index + 1) & counts.mask
    count = &counts.table[index]
    if count.lookups == 0:
        count = new_count(counts, hash, request, client)
        if count == NULL:
            counts.rest_lookups += 1
            counts.rest_misses += missed
            return
    count.lookups += 1
    count.misses += missed

cdef enum:
    MISSED_MAX = 128
    HOST_NUMBERS = 8192  # as connections/hosts.pxd has them
    TOPIC_BYTES_MAX = 255  # no real topic has more

cdef struct Missed:
    int64_t lookups
    uint64_t connection  # the id of the one that asked last
    Peer peer  # its address
    uint16_t host  # the one that asked first
    uint8_t topic_length
    uint8_t topic[TOPIC_BYTES_MAX]

cdef struct Missing:
    uint32_t count
    uint64_t hashes[MISSED_MAX]
    Missed rows[MISSED_MAX]
    uint16_t of_host[HOST_NUMBERS]  # topics in the table
    uint64_t chance

cdef int drain_missed(list rows, Missing *missing, pthread_mutex_t *mutex) except -1
cdef void note_missed(
    Missing *missing, const RouteRequest *request, uint64_t hash, const Peer *peer, uint16_t host, uint64_t connection
) noexcept nogil

"""The topics without a route that one reactor was asked for lately: a small table of fixed size.

Names are the peers'. A topic has WAYS places, by its keyed hash. Where all are taken, a newcomer replaces one of them at
random, if that one's host has as many topics in the table as the newcomer's, or more. So a host that makes names up
replaces its own.

A reactor notes with its `routes_mutex` held. Control copies and empties the table under the same mutex.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from rocketns._fast.access.peers cimport Peer
from rocketns._fast.codec.route_request cimport RouteRequest
from rocketns._fast.system.threads cimport pthread_mutex_t

cdef enum:
    SETS = 16
    WAYS = 8
    HOST_NUMBERS = 1024  # by the hash of their names: several may have the same
    TOPIC_BYTES_MAX = 255  # no real topic has more

cdef struct Missed:
    int64_t lookups
    uint64_t connection  # the id of the one that asked last
    Peer peer  # its address
    uint16_t host  # the number of the host that asked first
    uint8_t topic_length
    uint8_t topic[TOPIC_BYTES_MAX]

# `hashes` has 0 where a place is free.
cdef struct Missing:
    uint64_t hashes[SETS * WAYS]
    Missed rows[SETS * WAYS]
    uint16_t of_host[HOST_NUMBERS]  # topics in the table
    uint32_t used
    uint64_t chance


cdef inline uint16_t missed_host(uint64_t hash) noexcept nogil:
    """The number of the host with this hash of its name."""
    return <uint16_t>(hash % HOST_NUMBERS)


cdef int take_missed(list rows, Missing *missing, pthread_mutex_t *mutex) except -1
cdef void note_missed(
    Missing *missing, const RouteRequest *request, uint64_t hash, const Peer *peer, uint16_t host, uint64_t connection
) noexcept nogil

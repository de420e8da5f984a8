"""How many connections and requests a second each host may make: a bounded table of token buckets.

A bucket is one number: the time until which its tokens are spent (the virtual scheduling of ITU-T I.371, also called
GCRA). It is full when that time is over, so a host that asked for nothing in the last second needs no bucket at all.
"""

from libc.stdint cimport int64_t, uint64_t

from rocketns._fast.system.hashing cimport HashKey
from rocketns._fast.system.threads cimport pthread_mutex_t

cdef enum:
    SETS = 1024  # of places; the hash of a host decides its set
    PLACES = 8  # hosts of a set that are told apart
    STRIPES = 64
    HOST_BYTES = 48
    CACHE_LINE = 64

# What is limited.
cdef enum:
    REQUESTS = 0
    CONNECTIONS = 1
    LIMITED = 2

# Whose tokens are taken. A broker that registered from its connection does not ask in vain because of a flood of others
# at its address.
cdef enum:
    OF_STRANGERS = 0  # requests of connections from which no broker registered
    OF_KNOWN = 1  # requests of the others
    OF_CONNECTIONS = 2
    BUCKETS = 3

cdef struct Host:
    int64_t spent_until_ns[BUCKETS]
    int64_t refused[LIMITED]  # since `HostRates.take_refused` read it
    char name[HOST_BYTES]  # known once something was refused

# All of it is for any thread. The mutexes belong to every STRIPES-th set of `keys` and `hosts`.
cdef struct Rates:
    # Fixed.
    HashKey key
    uint64_t *keys  # of the hosts at the same places; 0: the place is free
    Host *hosts
    # Written by control, read by all. Atomic.
    int64_t cost_ns[LIMITED]  # of one token; 0: there is no limit
    char apart[CACHE_LINE]  # what is read for each request is not in a line with what a flood writes
    pthread_mutex_t mutexes[STRIPES]
    # Atomic.
    int64_t refused[LIMITED]

cdef bint take(Rates *rates, uint64_t host, int bucket, int64_t now_ms, const char *address, int fd) noexcept nogil


cdef class HostRates:
    cdef Rates rates

    cdef bint take_by_name(self, str host, int bucket, int64_t now_ms) except -1

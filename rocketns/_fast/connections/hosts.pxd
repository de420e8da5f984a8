"""The table of hosts: for each, the bytes that its connections hold, its tokens, and counts of its work that is queued.

A host has a place as long as it has a connection or work, and afterwards until another one needs the place. Places are
found by a keyed hash of the host's address, so nobody can choose addresses for one place. Where all places of a set
have connections, a further host shares one of them.

A bucket of tokens is one number: the time until which its tokens are spent (the virtual scheduling of ITU-T I.371, also
called GCRA). It is full when that time is over, so a host that asked for nothing in the last second needs no bucket.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport ADDRESS_BYTES
from rocketns._fast.system.hashing cimport HashKey
from rocketns._fast.system.threads cimport add, load, pthread_mutex_t, store

cdef enum:
    SUBSCRIBER_BYTES = 8  # of an IPv6 address, which one subscriber has: the rest of it is 0
    SETS = 1024  # of places
    WAYS = 8
    HOSTS = 8192  # all places. As a host's number: nobody's
    STRIPES = 64
    CACHE_LINE = 64

# Kinds of bytes that a connection holds: input that is not worked off, answers that the peer has not taken, and
# OpenSSL's memory for it.
cdef enum:
    INPUT = 0
    OUTPUT = 1
    TLS = 2
    KINDS = 3

# Connections by who their peer is.
cdef enum:
    STRANGERS = 0
    BROKERS = 1  # a broker registered from the connection

# What is limited by tokens.
cdef enum:
    REQUESTS = 0
    CONNECTIONS = 1
    LIMITED = 2

# Whose tokens are taken. A broker that registered from its connection does not ask in vain because of a flood of others
# at its address.
cdef enum:
    OF_STRANGERS = 0  # requests of connections from which no broker registered
    OF_BROKERS = 1  # requests of the others
    OF_CONNECTIONS = 2
    BUCKETS = 3

cdef struct Host:
    # Under the mutex of its set.
    int64_t users  # connections, until control has taken note of their ends
    int64_t spent_until_ns[BUCKETS]
    int64_t refused[LIMITED]  # since `HostTable.drain_refused` read it
    uint8_t address[ADDRESS_BYTES]
    # Atomic. All are 0 where the host has neither users nor work.
    int64_t charged_bytes[KINDS][2]  # of strangers and known ones
    int64_t queued_bytes  # of frames that control has not decoded
    int64_t deferred  # lookups, see reactor/answers.pxd
    int64_t ended  # connections of whose end control has not taken note

# All of it is for any thread. The mutexes belong to every STRIPES-th set of `hashes` and `hosts`.
cdef struct Hosts:
    # Fixed.
    HashKey key
    uint64_t *hashes  # of the hosts at the same places; 0: the place is free
    Host *hosts
    # Written by control, read by all. Atomic.
    int64_t cost_ns[LIMITED]  # of one token; 0: there is no limit
    char apart[CACHE_LINE]  # what is read for each request is not in a line with what a flood writes
    pthread_mutex_t mutexes[STRIPES]
    # Atomic.
    int64_t refused[LIMITED]
    int64_t charged_bytes[KINDS]  # of all connections, and of answers to this server's requests
    int64_t broker_bytes[KINDS]  # the part of them that connections of registered brokers hold
    int64_t largest[KINDS][2]  # of strangers and known ones: who had more than the one before, when bytes came

cdef uint16_t claim_host(Hosts *table, const uint8_t *address) noexcept nogil
cdef void release_host(Hosts *table, uint16_t number) noexcept nogil
cdef bint spend_token(Hosts *table, uint16_t number, int bucket, int64_t now_ms) noexcept nogil


cdef inline void charge_host(Hosts *table, int kind, int party, uint16_t number, int64_t change) noexcept nogil:
    """Any thread. Count bytes that a connection of the host holds from now on, or no longer."""
    cdef int64_t charged = add(&table.hosts[number].charged_bytes[kind][party], change)
    if party == BROKERS:
        add(&table.broker_bytes[kind], change)
    add(&table.charged_bytes[kind], change)
    if change > 0 and charged > load(&table.hosts[load(&table.largest[kind][party])].charged_bytes[kind][party]):
        store(&table.largest[kind][party], number)


cdef class HostTable:
    cdef Hosts table

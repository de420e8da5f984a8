"""The token buckets of hosts, for threads without the GIL. tests/fast/host_rates.py is the definition in Python.

A set that has no free place forgets the host whose tokens are back first. That costs nothing where all of them are
back. Else the host begins again with a full bucket, one second's worth. A host that floods is not the one: its tokens are
back last. Nobody can choose addresses for a set, because the hash is keyed.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import os

from rocketns._fast.access.peers cimport Peer
from rocketns._fast.connections.hosts cimport ADDRESS_ROOM, TEXT_ROOM, find_host, write_peer
from rocketns._fast.system.atomics cimport add, load, store
from rocketns._fast.system.hashing cimport HashKey, hash_bytes
from rocketns._fast.system.threads cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock
)

cdef enum:
    NS_PER_MS = 1_000_000
    SECOND_NS = 1_000_000_000
    BURST_NS = SECOND_NS  # so a full bucket has one second's worth


cdef int64_t spent_until(const Host *host) noexcept nogil:
    """Any thread, under the mutex of its set. When all tokens of the host are back."""
    return max(host.spent_until_ns[OF_STRANGERS], max(host.spent_until_ns[OF_KNOWN], host.spent_until_ns[OF_CONNECTIONS]))


cdef Host *host_at(Rates *rates, uint64_t key) noexcept nogil:
    """Any thread, under the mutex of the set. The host with this key; if it is new, with full buckets."""
    cdef size_t first = <size_t>(key % SETS) * PLACES
    cdef size_t place, chosen = first
    for place in range(first, first + PLACES):
        if rates.keys[place] == key:
            return &rates.hosts[place]
    for place in range(first, first + PLACES):
        if rates.keys[place] == 0:
            chosen = place
            break
        if spent_until(&rates.hosts[place]) < spent_until(&rates.hosts[chosen]):
            chosen = place
    memset(&rates.hosts[chosen], 0, sizeof(Host))
    rates.keys[chosen] = key
    return &rates.hosts[chosen]


cdef void note_name(Host *host, const char *address, int fd) noexcept nogil:
    """Any thread, under the mutex of the set. Without an address, that of the socket's peer."""
    cdef char at_peer[ADDRESS_ROOM]
    cdef char room[TEXT_ROOM]
    cdef Peer peer
    cdef size_t length
    cdef const char *name
    if host.name[0]:
        return
    if address == NULL:
        write_peer(fd, at_peer, &peer)
        address = at_peer
    name = find_host(address, room, &length)
    memcpy(host.name, name, min(length, <size_t>(HOST_BYTES - 1)))


cdef bint take(Rates *rates, uint64_t host, int bucket, int64_t now_ms, const char *address, int fd) noexcept nogil:
    """Any thread. Take a token; False, and counted, where the bucket is empty.

    ``host`` is the hash of its name. ``address``: host:port, or NULL where ``fd`` is a socket whose peer is at the host.
    """
    cdef int limited = CONNECTIONS if bucket == OF_CONNECTIONS else REQUESTS
    cdef int64_t now_ns = now_ms * NS_PER_MS, cost_ns = load(&rates.cost_ns[limited])
    cdef int64_t spent_ns
    cdef uint64_t key = host if host else 1  # 0 is a free place
    cdef Host *at
    cdef bint has_one
    pthread_mutex_lock(&rates.mutexes[key % STRIPES])
    at = host_at(rates, key)
    spent_ns = min(max(at.spent_until_ns[bucket], now_ns), now_ns + BURST_NS) + cost_ns
    has_one = spent_ns <= now_ns + BURST_NS
    if has_one:
        at.spent_until_ns[bucket] = spent_ns
    else:
        note_name(at, address, fd)
        at.refused[limited] += 1
    pthread_mutex_unlock(&rates.mutexes[key % STRIPES])
    if not has_one:
        add(&rates.refused[limited], 1)
    return has_one


cdef bint take_refused_of(Rates *rates, size_t place, Host *out) noexcept nogil:
    """Any thread. Copy a host whose requests or connections were refused, and forget that; False for any other."""
    cdef pthread_mutex_t *mutex = &rates.mutexes[place // PLACES % STRIPES]
    cdef Host *host = &rates.hosts[place]
    cdef bint was_refused
    pthread_mutex_lock(mutex)
    was_refused = host.refused[REQUESTS] != 0 or host.refused[CONNECTIONS] != 0
    if was_refused:
        out[0] = host[0]
        host.refused[REQUESTS] = host.refused[CONNECTIONS] = 0
    pthread_mutex_unlock(mutex)
    return was_refused


cdef int64_t cost_of(int per_second) noexcept:
    """Nanoseconds of one token, rounded down so that a full bucket has all its tokens; 0 without a limit."""
    return SECOND_NS // per_second if per_second else 0


cdef class HostRates:
    def __cinit__(self):
        cdef bytes key = os.urandom(sizeof(HashKey))
        memset(&self.rates, 0, sizeof(Rates))
        memcpy(&self.rates.key, <const char *>key, sizeof(HashKey))
        for number in range(STRIPES):
            pthread_mutex_init(&self.rates.mutexes[number], NULL)
        self.rates.keys = <uint64_t *>calloc(SETS * PLACES, sizeof(uint64_t))
        self.rates.hosts = <Host *>calloc(SETS * PLACES, sizeof(Host))
        if self.rates.keys == NULL or self.rates.hosts == NULL:
            raise MemoryError

    def __dealloc__(self):
        for number in range(STRIPES):
            pthread_mutex_destroy(&self.rates.mutexes[number])
        free(self.rates.keys)
        free(self.rates.hosts)

    def limit(self, int requests, int connections):
        if requests < 0 or connections < 0:
            raise ValueError(f"{requests} requests and {connections} connections a second")
        store(&self.rates.cost_ns[REQUESTS], cost_of(requests))
        store(&self.rates.cost_ns[CONNECTIONS], cost_of(connections))

    cdef bint take_by_name(self, str host, int bucket, int64_t now_ms) except -1:
        cdef bytes address = host.encode("ascii", "replace") + b":0"
        cdef const char *start = address
        cdef uint64_t key = hash_bytes(<const uint8_t *>start, <size_t>len(address) - 2, &self.rates.key)
        return take(&self.rates, key, bucket, now_ms, start, -1)

    def may_ask(self, str host not None, bint is_known, int64_t now_ms):
        if not load(&self.rates.cost_ns[REQUESTS]):
            return True
        return self.take_by_name(host, OF_KNOWN if is_known else OF_STRANGERS, now_ms)

    def may_connect(self, str host not None, int64_t now_ms):
        return not load(&self.rates.cost_ns[CONNECTIONS]) or self.take_by_name(host, OF_CONNECTIONS, now_ms)

    def take_refused(self):
        cdef list rows = []
        cdef Host host
        for place in range(SETS * PLACES):
            if take_refused_of(&self.rates, place, &host):
                rows.append((host.name.decode("ascii", "replace"), host.refused[REQUESTS], host.refused[CONNECTIONS]))
        return rows

    @property
    def refused_requests(self):
        return load(&self.rates.refused[REQUESTS])

    @property
    def refused_connections(self):
        return load(&self.rates.refused[CONNECTIONS])

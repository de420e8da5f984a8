"""The places and tokens of hosts. A host is what `host_of` in rocketns/addresses.py says.

A set that has no free place forgets, of the hosts without connections and work, the one whose tokens are back first.
That costs nothing where all of them are back. Else the host begins again with a full bucket, one second's worth. A host
that floods is not the one: its tokens are back last. tests/fast/host_rates.py is the definition in Python.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import os

from rocketns._fast.access.networks cimport is_ipv4
from rocketns._fast.system.hashing cimport hash_bytes
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    NS_PER_MS = 1_000_000
    SECOND_NS = 1_000_000_000
    BURST_NS = SECOND_NS  # so a full bucket has one second's worth


cdef int64_t spent_until(const Host *host) noexcept nogil:
    """Any thread, under the mutex of its set. When all tokens of the host are back."""
    cdef int64_t of_requests = max(host.spent_until_ns[OF_STRANGERS], host.spent_until_ns[OF_BROKERS])
    return max(of_requests, host.spent_until_ns[OF_CONNECTIONS])


cdef size_t index_of(Hosts *table, uint64_t hash, const uint8_t *address, size_t size) noexcept nogil:
    """Any thread, under the mutex of the set. The index of the host of this address; a new one has full buckets."""
    cdef size_t first = <size_t>(hash % SETS) * WAYS, chosen = HOSTS, index
    cdef Host *host
    for index in range(first, first + WAYS):
        if table.hashes[index] == hash:
            return index
    for index in range(first, first + WAYS):
        if table.hashes[index] == 0:
            chosen = index
            break
        host = &table.hosts[index]
        # Only users add work, so a host without both stays so meanwhile.
        if host.users == 0 and load(&host.queued_bytes) == 0 and load(&host.deferred) == 0:
            if chosen == HOSTS or spent_until(host) < spent_until(&table.hosts[chosen]):
                chosen = index
    if chosen == HOSTS:
        return first + <size_t>((hash >> 32) % WAYS)
    host = &table.hosts[chosen]
    memset(host.spent_until_ns, 0, sizeof(host.spent_until_ns))
    memset(host.refused, 0, sizeof(host.refused))
    memset(host.address, 0, ADDRESS_BYTES)
    memcpy(host.address, address, size)
    table.hashes[chosen] = hash
    return chosen


cdef inline pthread_mutex_t *mutex_at(Hosts *table, size_t index) noexcept nogil:
    return &table.mutexes[index // WAYS % STRIPES]


cdef uint16_t claim_host(Hosts *table, const uint8_t *address) noexcept nogil:
    """Any thread. The number of the host of an address of ADDRESS_BYTES. It stays the host's until `release_host`."""
    cdef size_t size = ADDRESS_BYTES if is_ipv4(address) else SUBSCRIBER_BYTES, index
    cdef uint64_t hash = max(hash_bytes(address, size, &table.key), <uint64_t>1)  # 0 is a free entry
    cdef pthread_mutex_t *mutex = mutex_at(table, hash % SETS * WAYS)
    pthread_mutex_lock(mutex)
    index = index_of(table, hash, address, size)
    table.hosts[index].users += 1
    pthread_mutex_unlock(mutex)
    return <uint16_t>index


cdef void release_host(Hosts *table, uint16_t number) noexcept nogil:
    """Any thread."""
    pthread_mutex_lock(mutex_at(table, number))
    table.hosts[number].users -= 1
    pthread_mutex_unlock(mutex_at(table, number))


cdef bint spend_token(Hosts *table, uint16_t number, int bucket, int64_t now_ms) noexcept nogil:
    """Any thread. False, and counted, where the bucket of the host is empty. ``number`` is claimed."""
    cdef Host *host = &table.hosts[number]
    cdef int limited = CONNECTIONS if bucket == OF_CONNECTIONS else REQUESTS
    cdef int64_t now_ns = now_ms * NS_PER_MS, spent_ns
    cdef bint has_one
    pthread_mutex_lock(mutex_at(table, number))
    spent_ns = min(max(host.spent_until_ns[bucket], now_ns), now_ns + BURST_NS) + load(&table.cost_ns[limited])
    has_one = spent_ns <= now_ns + BURST_NS
    if has_one:
        host.spent_until_ns[bucket] = spent_ns
    else:
        host.refused[limited] += 1
    pthread_mutex_unlock(mutex_at(table, number))
    if not has_one:
        add(&table.refused[limited], 1)
    return has_one


cdef class HostTable:
    def __cinit__(self):
        cdef bytes key = os.urandom(sizeof(HashKey))
        memcpy(&self.table.key, <const char *>key, sizeof(HashKey))
        self.table.hashes = <uint64_t *>calloc(SETS * WAYS, sizeof(uint64_t))
        self.table.hosts = <Host *>calloc(SETS * WAYS, sizeof(Host))
        if self.table.hashes == NULL or self.table.hosts == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table.hashes)
        free(self.table.hosts)

    def limit(self, int requests, int connections):
        if requests < 0 or connections < 0:
            raise ValueError(f"{requests} requests and {connections} connections a second")
        # Rounded down, so that a full bucket has all its tokens.
        store(&self.table.cost_ns[REQUESTS], SECOND_NS // requests if requests else 0)
        store(&self.table.cost_ns[CONNECTIONS], SECOND_NS // connections if connections else 0)

    def drain_refused(self):
        cdef list rows = []
        cdef uint8_t address[ADDRESS_BYTES]
        cdef int64_t requests, connections
        cdef size_t index
        cdef Host *host
        for index in range(HOSTS):
            host = &self.table.hosts[index]
            pthread_mutex_lock(mutex_at(&self.table, index))
            requests, connections = host.refused[REQUESTS], host.refused[CONNECTIONS]
            if requests or connections:
                host.refused[REQUESTS] = host.refused[CONNECTIONS] = 0
                memcpy(address, host.address, ADDRESS_BYTES)
            pthread_mutex_unlock(mutex_at(&self.table, index))
            if requests or connections:
                rows.append((address[:ADDRESS_BYTES], requests, connections))
        return rows

    @property
    def refused(self):
        return load(&self.table.refused[REQUESTS]), load(&self.table.refused[CONNECTIONS])

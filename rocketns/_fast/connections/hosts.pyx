"""The host of an address, the twin of `host_of` in rocketns/addresses.py, and the places and tokens of hosts.

A set that has no free place forgets, of the hosts without connections and work, the one whose tokens are back first.
That costs nothing where all of them are back. Else the host begins again with a full bucket, one second's worth. A host
that floods is not the one: its tokens are back last. tests/fast/host_rates.py is the definition in Python.
"""

from libc.stdint cimport uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy, memset, strchr, strlen, strncmp, strrchr

import os

from rocketns._fast.access.networks cimport IPV4_AT, is_ipv4, read_ip, read_socket_address
from rocketns._fast.system.hashing cimport hash_bytes
from rocketns._fast.system.sockets cimport (
    AF_INET, NI_NUMERICHOST, NI_NUMERICSERV, getnameinfo, getpeername, inet_ntop, sockaddr, sockaddr_storage, socklen_t
)
from rocketns._fast.system.threads cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock
)

cdef enum:
    SUBSCRIBER = 8  # bytes of an IPv6 address that one subscriber has
    HOST_ROOM = 80
    PORT_ROOM = 8
    NS_PER_MS = 1_000_000
    SECOND_NS = 1_000_000_000
    BURST_NS = SECOND_NS  # so a full bucket has one second's worth


cdef const char *find_host(const char *address, char *room, size_t *length) noexcept nogil:
    """Any thread. The host of host:port, in ``address`` or in ``room``, which has TEXT_ROOM."""
    cdef const char *colon = strrchr(address, c":")
    cdef Peer peer
    cdef int index
    length[0] = 0 if colon == NULL else <size_t>(colon - address)
    if memchr(address, c":", length[0]) == NULL:
        return address
    read_ip(address, length[0], &peer)
    if not peer.has_address:
        return address
    if is_ipv4(peer.address):
        inet_ntop(AF_INET, peer.address + IPV4_AT, room, TEXT_ROOM)
    else:
        for index in range(SUBSCRIBER):
            snprintf(room + 2 * index, 3, "%02x", <unsigned int>peer.address[index])
    length[0] = strlen(room)
    return room


cdef void write_peer(int fd, char *out, Peer *peer) noexcept nogil:
    """Any thread. The peer's address, and as host:port; ``out`` has ADDRESS_ROOM bytes.

    An IPv4 peer of a socket for both families is ::ffff:10.0.0.1 there, and is written as IPv4:
    `rocketns.addresses.unmapped`.
    """
    cdef sockaddr_storage address
    cdef socklen_t length = sizeof(sockaddr_storage)
    cdef char host[HOST_ROOM]
    cdef char port[PORT_ROOM]
    cdef const char *shown = host
    snprintf(out, ADDRESS_ROOM, "?")
    if getpeername(fd, <sockaddr *>&address, &length) < 0:
        return
    read_socket_address(&address, peer)
    if getnameinfo(<sockaddr *>&address, length, host, HOST_ROOM, port, PORT_ROOM,
                   NI_NUMERICHOST | NI_NUMERICSERV) == 0:
        if strncmp(host, "::ffff:", 7) == 0 and strchr(host, b".") != NULL:
            shown = &host[7]
        snprintf(out, ADDRESS_ROOM, "%s:%s", shown, <char *>port)


cdef int64_t spent_until(const Host *host) noexcept nogil:
    """Any thread, under the mutex of its set. When all tokens of the host are back."""
    cdef int64_t of_requests = max(host.spent_until_ns[OF_STRANGERS], host.spent_until_ns[OF_BROKERS])
    return max(of_requests, host.spent_until_ns[OF_CONNECTIONS])


cdef size_t index_of(Hosts *table, uint64_t hash, const char *name, size_t length) noexcept nogil:
    """Any thread, under the mutex of the set. The index of the host of this name; a new one has full buckets."""
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
    memset(host.name, 0, HOST_BYTES)
    memcpy(host.name, name, min(length, <size_t>(HOST_BYTES - 1)))
    table.hashes[chosen] = hash
    return chosen


cdef inline pthread_mutex_t *mutex_at(Hosts *table, size_t index) noexcept nogil:
    return &table.mutexes[index // WAYS % STRIPES]


cdef uint16_t claim_host(Hosts *table, const char *address) noexcept nogil:
    """Any thread. The number of the host of host:port. It stays the host's until `release_host`."""
    cdef char room[TEXT_ROOM]
    cdef size_t length, index
    cdef const char *name = find_host(address, room, &length)
    cdef uint64_t hash = max(hash_bytes(<const uint8_t *>name, length, &table.key), <uint64_t>1)  # 0 is a free entry
    cdef pthread_mutex_t *mutex = mutex_at(table, hash % SETS * WAYS)
    pthread_mutex_lock(mutex)
    index = index_of(table, hash, name, length)
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
        memset(&self.table, 0, sizeof(Hosts))
        memcpy(&self.table.key, <const char *>key, sizeof(HashKey))
        for number in range(STRIPES):
            pthread_mutex_init(&self.table.mutexes[number], NULL)
        self.table.hashes = <uint64_t *>calloc(SETS * WAYS, sizeof(uint64_t))
        self.table.hosts = <Host *>calloc(SETS * WAYS, sizeof(Host))
        if self.table.hashes == NULL or self.table.hosts == NULL:
            raise MemoryError

    def __dealloc__(self):
        for number in range(STRIPES):
            pthread_mutex_destroy(&self.table.mutexes[number])
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
        cdef char name[HOST_BYTES]
        cdef int64_t requests, connections
        cdef size_t index
        cdef Host *host
        for index in range(HOSTS):
            host = &self.table.hosts[index]
            pthread_mutex_lock(mutex_at(&self.table, index))
            requests, connections = host.refused[REQUESTS], host.refused[CONNECTIONS]
            if requests or connections:
                host.refused[REQUESTS] = host.refused[CONNECTIONS] = 0
                memcpy(name, host.name, HOST_BYTES)
            pthread_mutex_unlock(mutex_at(&self.table, index))
            if requests or connections:
                rows.append((name.decode("ascii", "replace"), requests, connections))
        return rows

    @property
    def refused(self):
        return load(&self.table.refused[REQUESTS]), load(&self.table.refused[CONNECTIONS])

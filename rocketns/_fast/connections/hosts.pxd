"""What compiled callers may use of hosts.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t

from rocketns._fast.access.peers cimport Peer
from rocketns._fast.system.hashing cimport HashKey

cdef enum:
    ADDRESS_ROOM = 96  # of host:port as `write_peer` writes it
    TEXT_ROOM = 64  # of a host of either family, without a scope

cdef const char *find_host(const char *address, char *room, size_t *length) noexcept nogil
cdef uint64_t host_hash(const char *address, const HashKey *key) noexcept nogil
cdef void write_peer(int fd, char *out, Peer *peer) noexcept nogil

"""What compiled callers may use of peers.pyx."""

from libc.stdint cimport uint8_t

from rocketns._fast.access.networks cimport ADDRESS_BYTES
from rocketns._fast.system.sockets cimport sockaddr_storage

# The IP address of a peer. Without one it is in no network.
cdef struct Peer:
    uint8_t address[ADDRESS_BYTES]
    uint8_t is_known

cdef void read_socket_address(const sockaddr_storage *address, Peer *peer) noexcept nogil
cdef void read_text(const char *address, Peer *peer) noexcept nogil

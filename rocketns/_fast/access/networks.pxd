"""A table of networks: which flags an address has. Fixed once it is made, so all threads may read it."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.system.sockets cimport sockaddr_storage

cdef enum:
    ADDRESS_BYTES = 16  # of IPv6. An IPv4 address is mapped to ::ffff:0:0/96
    ADDRESS_BITS = 8 * ADDRESS_BYTES
    IPV4_AT = 12  # in an IPv4 address that is written as IPv6

cpdef enum:
    # A lookup compares an address with each network: 1 ns each. It happens once for a connection and policy. The 4,096
    # of a policy and the 64 of trusted proxies have room.
    NETWORK_TABLE_MAX = 4160

# What an address may do by its network alone. A network has several of them, or 0.
cpdef enum NetworkFlag:
    MAY_LOOK_UP = 1
    HAS_EVIDENCE = 2  # it belongs to a principal, so its connections are not closed as those of strangers

cdef extern from *:
    """
    typedef unsigned __int128 rocketns_bits;
    """
    ctypedef unsigned long long Bits "rocketns_bits"  # ADDRESS_BITS, in the order of an address

cdef struct Network:
    Bits address
    Bits mask
    int flags

cdef struct NetworkTable:
    Network *networks
    size_t count

cdef bint is_ipv4(const uint8_t *address) noexcept nogil
cdef int flags_of(const NetworkTable *table, const uint8_t *address, bint only_first) noexcept nogil

cdef class Networks:
    cdef NetworkTable table  # fixed

# The IP address of a peer. Without one it is in no network.
cdef struct Peer:
    uint8_t address[ADDRESS_BYTES]
    uint8_t has_address

cdef void read_socket_address(const sockaddr_storage *address, Peer *peer) noexcept nogil
cdef void read_ip(const char *host, size_t length, Peer *peer) noexcept nogil

"""Networks as 128 bits: an address is in one if its bits under the mask are equal.

An IPv4 address is in networks of IPv4 alone, as for control: ::/0 is everybody of IPv6, and nobody of IPv4.

The networks are compared one after another. A table of 300 costs 0.2 µs, one of NETWORK_TABLE_MAX 5 µs, once for a
connection and policy. Accepting a connection costs more.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy

from rocketns._fast.system.sockets cimport AF_INET, AF_INET6, inet_pton

cdef enum:
    IPV4_BITS = 32


cdef inline Bits read_bits(const uint8_t *address) noexcept nogil:
    cdef Bits bits = 0
    cdef int index
    for index in range(ADDRESS_BYTES):
        bits = bits << 8 | address[index]
    return bits


cdef inline Bits mask_of(int length) noexcept nogil:
    """Of a prefix of so many bits."""
    return ~<Bits>0 << (ADDRESS_BITS - length) if length else 0


cdef int flags_of(const NetworkTable *table, const uint8_t *address, bint only_first) noexcept nogil:
    """Any thread. The flags of all networks that contain the address, together, or of the first one; 0 if none does."""
    cdef Bits bits = read_bits(address)
    # An IPv4 address: the bits of ::ffff:0:0/96 count, whatever the mask says. So it is in no wider network of IPv6.
    cdef Bits at_least = mask_of(ADDRESS_BITS - IPV4_BITS) if is_ipv4(address) else 0
    cdef const Network *network
    cdef int flags = 0
    cdef size_t index
    for index in range(table.count):
        network = &table.networks[index]
        if ((bits ^ network.address) & network.mask | at_least & ~network.mask) == 0:
            flags |= network.flags
            if only_first:
                break
    return flags


cdef class Networks:
    def __cinit__(self, list networks not None):
        cdef bytes address
        cdef int bits, flags
        cdef Network *network
        if len(networks) > NETWORK_TABLE_MAX:
            raise ValueError(f"{len(networks)} networks: at most {NETWORK_TABLE_MAX} expected")
        self.table.networks = <Network *>calloc(max(len(networks), 1), sizeof(Network))
        if self.table.networks == NULL:
            raise MemoryError
        for address, bits, flags in networks:
            if len(address) != ADDRESS_BYTES or not 0 <= bits <= ADDRESS_BITS:
                raise ValueError(f"an address of {len(address)} bytes, with a prefix of {bits} bits")
            network = &self.table.networks[self.table.count]
            network.address, network.mask, network.flags = read_bits(address), mask_of(bits), flags
            self.table.count += 1

    def __dealloc__(self):
        free(self.table.networks)

    def first_flags_of(self, bytes address not None):
        if len(address) != ADDRESS_BYTES:
            raise ValueError(f"an address of {len(address)} bytes: {ADDRESS_BYTES} expected")
        return flags_of(&self.table, <const uint8_t *>address, True)


cdef extern from * nogil:
    """
    #include <netinet/in.h>
    #include <sys/socket.h>
    /* The address in a socket address of that family: 4 or 16 bytes. */
    static inline const void *rocketns_ipv4(const struct sockaddr_storage *address) {
        return &((const struct sockaddr_in *)address)->sin_addr;
    }
    static inline const void *rocketns_ipv6(const struct sockaddr_storage *address) {
        return &((const struct sockaddr_in6 *)address)->sin6_addr;
    }
    static inline int rocketns_family(const struct sockaddr_storage *address) { return address->ss_family; }
    """
    const void *ipv4_of "rocketns_ipv4"(const sockaddr_storage *address)
    const void *ipv6_of "rocketns_ipv6"(const sockaddr_storage *address)
    int family_of "rocketns_family"(const sockaddr_storage *address)

cdef enum:
    IPV4_BYTES = 4
    TEXT_ROOM = 64  # of an address of either family, without a scope

cdef const char *IPV4_MAPPED = b"\0\0\0\0\0\0\0\0\0\0\xff\xff"


cdef bint is_ipv4(const uint8_t *address) noexcept nogil:
    """Any thread. Whether 16 bytes are an IPv4 address."""
    return memcmp(address, IPV4_MAPPED, IPV4_AT) == 0


cdef void read_socket_address(const sockaddr_storage *address, Peer *peer) noexcept nogil:
    """Any thread. A family other than IPv4 and IPv6 has no address."""
    peer.has_address = True
    if family_of(address) == AF_INET:
        memcpy(peer.address, IPV4_MAPPED, IPV4_AT)
        memcpy(peer.address + IPV4_AT, ipv4_of(address), IPV4_BYTES)
    elif family_of(address) == AF_INET6:
        memcpy(peer.address, ipv6_of(address), ADDRESS_BYTES)
    else:
        peer.has_address = False


cdef void read_ip(const char *host, size_t length, Peer *peer) noexcept nogil:
    """Any thread. IPv6 without brackets, with a scope or without, or IPv4. Other texts have no address."""
    cdef char text[TEXT_ROOM]
    cdef const char *scope = <const char *>memchr(host, c"%", length)
    peer.has_address = False
    if scope != NULL:
        length = <size_t>(scope - host)
    if length >= TEXT_ROOM:
        return
    memcpy(text, host, length)
    text[length] = 0
    if inet_pton(AF_INET6, text, peer.address) == 1:
        peer.has_address = True
    elif inet_pton(AF_INET, text, peer.address + IPV4_AT) == 1:
        memcpy(peer.address, IPV4_MAPPED, IPV4_AT)
        peer.has_address = True

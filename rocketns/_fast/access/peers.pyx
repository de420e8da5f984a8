"""The IP address of a peer in 16 bytes, from its socket or from the address that a PROXY header announced."""

from libc.stddef cimport size_t
from libc.string cimport memchr, memcpy, strrchr

from rocketns._fast.system.sockets cimport AF_INET, AF_INET6

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

cdef extern from "<arpa/inet.h>" nogil:
    int inet_pton(int family, const char *text, void *packed)

cdef enum:
    IPV4_AT = 12  # in an IPv4 address that is written as IPv6
    IPV4_BYTES = 4
    TEXT_ROOM = 64  # of an address of either family, without a scope

cdef const char *IPV4_MAPPED = b"\0\0\0\0\0\0\0\0\0\0\xff\xff"


cdef void read_socket_address(const sockaddr_storage *address, Peer *peer) noexcept nogil:
    """Any thread. A family other than IPv4 and IPv6 has no address."""
    peer.is_known = True
    if family_of(address) == AF_INET:
        memcpy(peer.address, IPV4_MAPPED, IPV4_AT)
        memcpy(peer.address + IPV4_AT, ipv4_of(address), IPV4_BYTES)
    elif family_of(address) == AF_INET6:
        memcpy(peer.address, ipv6_of(address), ADDRESS_BYTES)
    else:
        peer.is_known = False


cdef void read_text(const char *address, Peer *peer) noexcept nogil:
    """Any thread. From host:port; an IPv6 host has no brackets here. Other texts have no address."""
    cdef char host[TEXT_ROOM]
    cdef const char *colon = strrchr(address, c":")
    cdef size_t length = 0 if colon == NULL else <size_t>(colon - address)
    cdef const char *scope = <const char *>memchr(address, c"%", length)
    peer.is_known = False
    if scope != NULL:
        length = <size_t>(scope - address)
    if length >= TEXT_ROOM:
        return
    memcpy(host, address, length)
    host[length] = 0
    if inet_pton(AF_INET6, host, peer.address) == 1:
        peer.is_known = True
    elif inet_pton(AF_INET, host, peer.address + IPV4_AT) == 1:
        memcpy(peer.address, IPV4_MAPPED, IPV4_AT)
        peer.is_known = True

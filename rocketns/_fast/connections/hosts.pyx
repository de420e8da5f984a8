"""The host of an address, the twin of `host_of` in rocketns/addresses.py, and a keyed hash of it."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memchr, memcmp, memcpy, strchr, strlen, strncmp, strrchr

from rocketns._fast.access.peers cimport Peer, read_socket_address
from rocketns._fast.system.hashing cimport HashKey, hash_bytes
from rocketns._fast.system.sockets cimport (
    NI_NUMERICHOST, NI_NUMERICSERV, getnameinfo, getpeername, sockaddr, sockaddr_storage, socklen_t
)

cdef extern from "<arpa/inet.h>" nogil:
    int inet_pton(int family, const char *text, void *packed)
    const char *inet_ntop(int family, const void *packed, char *text, unsigned int room)
    const int AF_INET, AF_INET6

cdef enum:
    PACKED = 16
    IPV4_AT = 12  # in an IPv4 address that is written as IPv6
    SUBSCRIBER = 8  # bytes of an IPv6 address that one subscriber has
    HOST_ROOM = 80
    PORT_ROOM = 8

cdef const char *IPV4_MAPPED = b"\0\0\0\0\0\0\0\0\0\0\xff\xff"


cdef bint write_ipv6(const char *host, size_t length, char *out) noexcept nogil:
    """Any thread. Write the host of an IPv6 address to ``out``, which has TEXT_ROOM; False where it is no address."""
    cdef uint8_t packed[PACKED]
    cdef int place
    cdef const char *scope = <const char *>memchr(host, c"%", length)
    if scope != NULL:
        length = <size_t>(scope - host)
    if length >= TEXT_ROOM:
        return False
    memcpy(out, host, length)
    out[length] = 0
    if inet_pton(AF_INET6, out, packed) != 1:
        return False
    if memcmp(packed, IPV4_MAPPED, IPV4_AT) == 0:
        return inet_ntop(AF_INET, packed + IPV4_AT, out, TEXT_ROOM) != NULL
    for place in range(SUBSCRIBER):
        snprintf(out + 2 * place, 3, "%02x", <unsigned int>packed[place])
    return True


cdef const char *find_host(const char *address, char *room, size_t *length) noexcept nogil:
    """Any thread. The host of host:port, in ``address`` or in ``room``."""
    cdef const char *colon = strrchr(address, c":")
    length[0] = 0 if colon == NULL else <size_t>(colon - address)
    if memchr(address, c":", length[0]) == NULL or not write_ipv6(address, length[0], room):
        return address
    length[0] = strlen(room)
    return room


cdef uint64_t host_hash(const char *address, const HashKey *key) noexcept nogil:
    """Any thread. The whole hash of the host of host:port."""
    cdef char room[TEXT_ROOM]
    cdef size_t length
    cdef const char *host = find_host(address, room, &length)
    return hash_bytes(<const uint8_t *>host, length, key)


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


def host_of(bytes address):
    cdef char room[TEXT_ROOM]
    cdef size_t length
    cdef const char *host = find_host(address, room, &length)
    return host[:length]

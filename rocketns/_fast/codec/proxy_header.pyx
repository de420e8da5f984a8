"""Reads a PROXY header. It comes from anybody: each length is compared with the bytes that are there before its use.

It takes what load balancers write, and refuses what Netty's HAProxyMessageDecoder refuses, which Java uses; but it does
not look into an extension. A name server uses only the announced source address: for log lines, and to share its time
fairly between hosts. `rocketns.protocol.spec` has the layout of v2; tests/protocol/test_spec.py compares.
"""

from libc.stdio cimport snprintf, sscanf
from libc.stdlib cimport atoi
from libc.string cimport memchr, memcmp, memcpy, memset, strncmp

from rocketns._fast.system.sockets cimport AF_INET, AF_INET6, inet_ntop, inet_pton

cdef enum:
    V1_LINE_BYTES_MAX = 108  # without CR LF, as Netty counts
    V2_HEAD_BYTES = 16
    V2_LENGTH_AT = 14
    IPV4_BYTES = 4
    IPV6_BYTES = 16
    UNIX_BYTES = 216
    TEXT_ROOM = 64  # of an address of either family
    PORT_ROOM = 6
    EXTENSION_HEAD_BYTES = 3  # type and length
    EXTENSION_BYTES_MIN = 4  # fewer bytes are padding
    INET = 1  # families of addresses
    INET6 = 2
    UNIX = 3

cdef const char *V1_PREFIX = b"PROXY"
cdef const char *V1_UNKNOWN = b"PROXY UNKNOWN"
# Family, both addresses, both ports, with one blank between two of them; then how much was read.
cdef const char *V1_LINE = (
    b"PROXY%*1[ ]TCP%1[46]%*1[ ]%63[0-9A-Fa-f.:]%*1[ ]%63[0-9A-Fa-f.:]%*1[ ]%5[0-9]%*1[ ]%5[0-9]%n"
)
cdef const char *V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


cdef bint is_proxied(const uint8_t *data) noexcept nogil:
    """Any thread. Whether DETECTION_BYTES announce a header."""
    return memcmp(data, V1_PREFIX, 5) == 0 or memcmp(data, V2_SIGNATURE, DETECTION_BYTES) == 0


cdef Header read_header(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    """Any thread. The header at the start of at least DETECTION_BYTES."""
    memset(header, 0, sizeof(ProxyHeader))
    if size < DETECTION_BYTES:
        return UNFINISHED
    return read_v1(data, size, header) if data[0] == V1_PREFIX[0] else read_v2(data, size, header)


cdef inline bint is_port(const char *digits) noexcept nogil:
    return 0 < atoi(digits) <= 65535


cdef Header read_v1(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    cdef char line[V1_LINE_BYTES_MAX + 1]
    cdef char family[2]
    cdef char source[TEXT_ROOM]
    cdef char destination[TEXT_ROOM]
    cdef char port[PORT_ROOM]
    cdef char destination_port[PORT_ROOM]
    cdef uint8_t packed[IPV6_BYTES]
    cdef int inet, matched = 0
    cdef size_t length, searched = min(size, <size_t>V1_LINE_BYTES_MAX + 2)
    cdef const uint8_t *end = <const uint8_t *>memchr(data, c"\n", searched)
    if end == NULL:
        return UNFINISHED if size < V1_LINE_BYTES_MAX + 2 else WRONG
    header.size = <size_t>(end - data) + 1
    length = header.size - 2
    memcpy(line, data, length)
    line[length] = 0
    if end[-1] != c"\r":
        return WRONG
    if strncmp(line, V1_UNKNOWN, 13) == 0:  # whatever comes behind it
        return COMPLETE
    if sscanf(line, V1_LINE, family, source, destination, port, destination_port, &matched) != 5:
        return WRONG
    inet = AF_INET if family[0] == c"4" else AF_INET6
    if <size_t>matched != length or inet_pton(inet, destination, packed) != 1 or inet_pton(inet, source, packed) != 1:
        return WRONG
    if not is_port(port) or not is_port(destination_port) or inet_ntop(inet, packed, source, TEXT_ROOM) == NULL:
        return WRONG
    snprintf(header.source, SOURCE_ROOM, "%s:%d", <char *>source, atoi(port))
    return COMPLETE


cdef Header read_v2(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    """Behind the head are the addresses of both ends, their ports, and extensions."""
    cdef const uint8_t *block = data + V2_HEAD_BYTES
    cdef size_t length, address, at
    cdef int command, family, transport
    cdef char source[TEXT_ROOM]
    if size < V2_HEAD_BYTES:
        return UNFINISHED
    command = data[DETECTION_BYTES] & 15
    if memcmp(data, V2_SIGNATURE, DETECTION_BYTES) != 0 or data[DETECTION_BYTES] >> 4 != 2 or command > 1:
        return WRONG
    length = <size_t>data[V2_LENGTH_AT] << 8 | data[V2_LENGTH_AT + 1]
    header.size = V2_HEAD_BYTES + length
    if size < header.size:
        return UNFINISHED
    family, transport = data[DETECTION_BYTES + 1] >> 4, data[DETECTION_BYTES + 1] & 15
    if command == 0 or (family == 0 and transport == 0):
        return COMPLETE
    address = IPV4_BYTES if family == INET else IPV6_BYTES
    at = UNIX_BYTES if family == UNIX else 2 * address + 4
    if not INET <= family <= UNIX or not 1 <= transport <= 2:
        return WRONG
    while at + EXTENSION_BYTES_MIN <= length:
        at += EXTENSION_HEAD_BYTES + (<size_t>block[at + 1] << 8 | block[at + 2])
    if at > length:
        return WRONG
    if family == UNIX:
        return COMPLETE
    if inet_ntop(AF_INET if family == INET else AF_INET6, block, source, TEXT_ROOM) == NULL:
        return WRONG
    snprintf(header.source, SOURCE_ROOM, "%s:%d", <char *>source, block[2 * address] << 8 | block[2 * address + 1])
    return COMPLETE


def is_header(bytes start not None):
    return len(start) == DETECTION_BYTES and is_proxied(start)


def parse(bytes data not None):
    cdef ProxyHeader header
    cdef Header found = read_header(<const uint8_t *>data, <size_t>len(data), &header)
    if found == WRONG:
        raise ValueError("a wrong PROXY header")
    if found == UNFINISHED:
        return None
    return header.size, header.source.decode() or None

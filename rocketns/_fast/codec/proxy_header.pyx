"""Reads a PROXY header. It comes from anybody: each length is compared with the bytes that are there before its use.

It takes and refuses the same headers as Netty's HAProxyMessageDecoder, which Java uses. A name server uses only the
announced source address: for log lines, and to share its time fairly between hosts. `rocketns.protocol.spec` has the
layouts; tests/protocol/test_spec.py compares.
"""

from libc.stdio cimport snprintf
from libc.string cimport memchr, memcmp, memcpy, memset

from rocketns._fast.codec.compact_json cimport Cursor, Text, is_text, left
from rocketns._fast.system.sockets cimport AF_INET, AF_INET6, inet_ntop, inet_pton

cdef enum:
    NESTING_MAX = 128
    EXTENSION_HEAD_BYTES = 3  # type and length
    EXTENSION_BYTES_MIN = 4  # fewer bytes are padding
    SSL = 0x20  # its value is SSL_HEAD_BYTES and further extensions
    SSL_HEAD_BYTES = 5

cdef bint are_extensions(const uint8_t *data, size_t size, int nesting) noexcept nogil:
    """Any thread. As Netty's HAProxyMessage.readTlvs. Reads data[0] to data[size - 1], each byte once: a header has
    room for 21,000 of them, and it is read before a connection's work is charged to its host.
    """
    cdef size_t at = 0, length
    if nesting > NESTING_MAX:
        return False
    while size - at >= EXTENSION_BYTES_MIN:
        length = <size_t>data[at + 1] << 8 | data[at + 2]
        if length > size - at - EXTENSION_HEAD_BYTES:
            return False
        if data[at] == SSL:
            if length < SSL_HEAD_BYTES or not are_extensions(
                data + at + EXTENSION_HEAD_BYTES + SSL_HEAD_BYTES, length - SSL_HEAD_BYTES, nesting + 1
            ):
                return False
        at += EXTENSION_HEAD_BYTES + length
    return True


cdef enum:
    V1_PREFIX_BYTES = 5
    V1_LINE_BYTES_MAX = 108  # without CR LF, as Netty counts
    V2_HEAD_BYTES = 16
    V2_LENGTH_AT = 14
    IPV4_BYTES = 4
    IPV6_BYTES = 16
    UNIX_BYTES = 216
    TEXT_ROOM = 64  # of an address of either family
    INET = 1  # families of addresses
    INET6 = 2
    UNIX = 3

cdef const char *V1_PREFIX = b"PROXY"
cdef const char *V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


cdef bint is_proxied(const uint8_t *data) noexcept nogil:
    """Any thread. Whether DETECTION_BYTES announce a header."""
    return memcmp(data, V1_PREFIX, V1_PREFIX_BYTES) == 0 or memcmp(data, V2_SIGNATURE, DETECTION_BYTES) == 0


cdef Header read_header(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    """Any thread. The header at the start of at least DETECTION_BYTES."""
    memset(header, 0, sizeof(ProxyHeader))
    if size < DETECTION_BYTES:
        return UNFINISHED
    return read_v1(data, size, header) if memcmp(data, V1_PREFIX, V1_PREFIX_BYTES) == 0 else read_v2(data, size, header)


cdef inline Text next_word(Cursor *line) noexcept nogil:
    """The bytes up to the next blank, or to the end. The line does not end with a blank."""
    cdef Text word
    cdef const uint8_t *blank = <const uint8_t *>memchr(line.at, c" ", left(line))
    word.start, word.length = line.at, left(line) if blank == NULL else <size_t>(blank - line.at)
    line.at = line.end if blank == NULL else blank + 1
    return word


cdef Header read_v1(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    cdef Cursor line
    cdef Text word
    cdef bint is_ipv4
    cdef char source[TEXT_ROOM]
    cdef char destination[TEXT_ROOM]
    cdef int port
    cdef size_t end = 0, searched = min(size, <size_t>V1_LINE_BYTES_MAX + 2)
    while end + 1 < searched and not (data[end] == c"\r" and data[end + 1] == c"\n"):
        end += 1
    if end + 1 >= searched:
        return WRONG if size >= V1_LINE_BYTES_MAX + 2 else UNFINISHED
    header.size = end + 2
    while end and data[end - 1] == c" ":
        end -= 1
    line.at, line.end = data, data + end
    word = next_word(&line)
    if not is_text(&word, V1_PREFIX, V1_PREFIX_BYTES) or left(&line) == 0:
        return WRONG
    word = next_word(&line)
    if is_text(&word, b"UNKNOWN", 7):
        return COMPLETE
    is_ipv4 = is_text(&word, b"TCP4", 4)
    if not is_ipv4 and not is_text(&word, b"TCP6", 4):
        return WRONG
    if not copy_address(next_word(&line), is_ipv4, source) or not copy_address(next_word(&line), is_ipv4, destination):
        return WRONG
    port = read_port(next_word(&line))
    if not port or not read_port(next_word(&line)) or left(&line):
        return WRONG
    snprintf(header.source, SOURCE_ROOM, "%s:%d", <char *>source, port)
    return COMPLETE


cdef inline bint copy_address(Text word, bint is_ipv4, char *out) noexcept nogil:
    return copy_ipv4(&word, out) if is_ipv4 else copy_ipv6(&word, out)


cdef bint copy_ipv4(const Text *word, char *out) noexcept nogil:
    """Four numbers of one to three digits, up to 255. Zeros in front are kept."""
    cdef size_t at
    cdef int number = 0, digits = 0, dots = 0
    if word.length >= TEXT_ROOM:
        return False
    for at in range(word.length):
        if c"0" <= word.start[at] <= c"9" and digits < 3:
            number = number * 10 + (word.start[at] - c"0")
            digits += 1
            if number > 255:
                return False
        elif word.start[at] == c"." and digits and dots < 3:
            number, digits = 0, 0
            dots += 1
        else:
            return False
    memcpy(out, word.start, word.length)
    out[word.length] = 0
    return dots == 3 and digits > 0


cdef bint copy_ipv6(const Text *word, char *out) noexcept nogil:
    """In its shortest form, without the scope, which may be any text but not empty."""
    cdef uint8_t packed[IPV6_BYTES]
    cdef size_t length = word.length
    cdef const uint8_t *scope = <const uint8_t *>memchr(word.start, c"%", length)
    if scope != NULL:
        length = <size_t>(scope - word.start)
        if length + 1 == word.length or memchr(scope + 1, c"%", word.length - length - 1) != NULL:
            return False
    if length >= TEXT_ROOM or memchr(word.start, 0, length) != NULL:
        return False
    memcpy(out, word.start, length)
    out[length] = 0
    return inet_pton(AF_INET6, out, packed) == 1 and inet_ntop(AF_INET6, packed, out, TEXT_ROOM) != NULL


cdef int read_port(Text word) noexcept nogil:
    """As Integer.parseInt reads it, with a sign and any number of zeros; 0 if it is no port."""
    cdef size_t at = 0
    cdef int number = 0
    if word.length and word.start[0] == c"+":
        at = 1
    if at == word.length:
        return 0
    while at < word.length:
        if not c"0" <= word.start[at] <= c"9":
            return 0
        number = number * 10 + (word.start[at] - c"0")
        if number > 65535:
            return 0
        at += 1
    return number


cdef Header read_v2(const uint8_t *data, size_t size, ProxyHeader *header) noexcept nogil:
    """Behind the head are the addresses of both ends, their ports, and extensions."""
    cdef const uint8_t *block = data + V2_HEAD_BYTES
    cdef size_t length, address, extensions
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
    extensions = UNIX_BYTES if family == UNIX else 2 * address + 4
    if not INET <= family <= UNIX or not 1 <= transport <= 2 or length < extensions:
        return WRONG
    if not are_extensions(block + extensions, length - extensions, 0):
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

"""The extensions (type-length-values) of a PROXY header v2, checked as Netty's HAProxyMessage.readTlvs does.

A header has room for 21,000 of them, and it is read before a connection's work is charged to its host. So this takes
microseconds. tests/fast/test_codec.py has the definition.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef enum:
    NESTING_MAX = 128
    EXTENSION_HEAD_BYTES = 3  # type and length
    EXTENSION_BYTES_MIN = 4  # fewer bytes are padding
    SSL = 0x20  # its value is SSL_HEAD_BYTES and further extensions
    SSL_HEAD_BYTES = 5

TEXTS = {
    CUT: "a PROXY header with a cut extension",
    SSL_CUT: "a PROXY header with a cut SSL extension",
    TOO_DEEP: "a PROXY header with extensions within extensions",
}


cdef Fault check(const uint8_t *data, size_t size, int nesting) noexcept nogil:
    """Any thread. Reads data[0] to data[size - 1]. Each byte is looked at once."""
    cdef size_t at = 0, length
    cdef Fault found
    if nesting > NESTING_MAX:
        return TOO_DEEP
    while size - at >= EXTENSION_BYTES_MIN:
        length = <size_t>data[at + 1] << 8 | data[at + 2]
        if length > size - at - EXTENSION_HEAD_BYTES:
            return CUT
        if data[at] == SSL:
            if length < SSL_HEAD_BYTES:
                return SSL_CUT
            found = check(data + at + EXTENSION_HEAD_BYTES + SSL_HEAD_BYTES, length - SSL_HEAD_BYTES, nesting + 1)
            if found != NONE:
                return found
        at += EXTENSION_HEAD_BYTES + length
    return NONE


def fault_of(const unsigned char[::1] extensions):
    cdef Fault found
    if extensions.shape[0] == 0:
        return None
    found = check(&extensions[0], <size_t>extensions.shape[0], 0)
    return None if found == NONE else TEXTS[found]

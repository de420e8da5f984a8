"""Where a frame ends in a receive buffer (Java: NettyDecoder, and RemotingCommand on the header word).

The compiled twin of ``tests.support.frames.next_frame``; tests/fast/test_codec.py holds the two together.
Looks at the first 8 bytes of a frame and never at its header or body.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    SERIALIZE_JSON = 0
    SERIALIZE_ROCKETMQ = 1


cdef inline bint word_fits(uint32_t word, int64_t length) noexcept nogil:
    """Whether a header word is one that RemotingCommand.decode accepts in a frame of this length field."""
    cdef uint32_t serialize_type = word >> SERIALIZE_TYPE_SHIFT
    cdef int64_t header_length = word & HEADER_LENGTH_MASK
    if serialize_type > SERIALIZE_ROCKETMQ or header_length > length - WORD_BYTES:
        return False
    return header_length > 0 or serialize_type != SERIALIZE_JSON


cdef int64_t frame_size(const uint8_t *data, size_t available, uint32_t frame_size_max) noexcept nogil:
    """Bytes of the whole frame at data with its 4 length bytes, 0 = need more bytes, -1 = malformed: close.

    Reads data[0] to data[available - 1] at most. A size that cannot be is refused as soon as the length is known;
    everything else only once the frame is complete, as Java does.
    """
    cdef int64_t length
    if available < LENGTH_BYTES:
        return NEED_MORE
    length = <int64_t>read_uint32(data)
    # A negative length reads as 2**31 or more, and frame_size_max may be that large too: so check both.
    if length > 0x7FFFFFFF or LENGTH_BYTES + length > <int64_t>frame_size_max:
        return MALFORMED
    if available < <size_t>(LENGTH_BYTES + length):
        return NEED_MORE
    if length < WORD_BYTES or not word_fits(read_uint32(data + HEADER_WORD_AT), length):
        return MALFORMED
    return LENGTH_BYTES + length


def next_frame(const unsigned char[::1] buffer, Py_ssize_t start, uint32_t frame_size_max) -> int:
    if start < 0 or start > buffer.shape[0]:
        raise ValueError(f"start {start} is outside a buffer of {buffer.shape[0]} bytes")
    if start == buffer.shape[0]:  # an empty view has no first element to take the address of
        return NEED_MORE
    return frame_size(&buffer[start], <size_t>(buffer.shape[0] - start), frame_size_max)

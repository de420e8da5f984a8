"""Where a frame ends in a receive buffer, and what its binary header says (Java: NettyDecoder, RocketMQSerializable).

The twins are ``tests.support.frames.next_frame`` and ``rocketns.protocol.spec.BINARY_HEADER``; tests/fast/test_codec.py
compares. What is refused here is refused: nothing falls back to Construct, which takes 16 µs a field.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t

from rocketns._fast.codec.compact_json cimport left


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


cdef inline int32_t read_int32(const uint8_t *data) noexcept nogil:
    return <int32_t>read_uint32(data)


cdef inline bint read_text(Cursor *cursor, int64_t length, int64_t length_max, Text *text) noexcept nogil:
    """``length`` bytes; False where there are not so many, or more than ``length_max``."""
    if length < 0 or length > length_max or <size_t>length > left(cursor):
        return False
    text.start, text.length = cursor.at, <size_t>length
    cursor.at += length
    return True


cdef inline bint read_length(Cursor *cursor, int32_t *length) noexcept nogil:
    if left(cursor) < VALUE_LENGTH_BYTES:
        return False
    length[0] = read_int32(cursor.at)
    cursor.at += VALUE_LENGTH_BYTES
    return True


cdef bint read_pair(Cursor *cursor, int64_t length_max, Text *key, Text *value) noexcept nogil:
    """A key and its value. Java compares each length with that of the whole section."""
    cdef int32_t length
    if left(cursor) < KEY_LENGTH_BYTES:
        return False
    length = read_int16(cursor.at)
    cursor.at += KEY_LENGTH_BYTES
    if not read_text(cursor, length, length_max, key):
        return False
    return read_length(cursor, &length) and read_text(cursor, length, length_max, value)


cdef inline object text_of(const Text *text):
    return PyUnicode_DecodeUTF8(<const char *>text.start, <Py_ssize_t>text.length, "replace")


cdef dict read_fields(Cursor *cursor, int64_t ext_length, Py_ssize_t fields_max):
    """Java reads pairs until as many bytes are taken. An empty value is null; an empty key can never be asked for."""
    cdef Text key, value
    cdef const uint8_t *end_of_section = cursor.at + min(<size_t>ext_length, left(cursor))
    cdef bint complete = <size_t>ext_length <= left(cursor)
    cdef Py_ssize_t fields = 0
    cdef dict ext = {}
    while not complete or cursor.at < end_of_section:
        if not read_pair(cursor, ext_length, &key, &value):
            raise ValueError("an ext field's length does not fit")
        fields += 1
        if fields > fields_max:
            raise ValueError(f"more than {fields_max} fields")
        if key.length:
            ext[text_of(&key)] = text_of(&value) if value.length else None
    return ext


def read_binary_header(
    const unsigned char[::1] data, Py_ssize_t start, Py_ssize_t header_length, Py_ssize_t fields_max
):
    cdef Cursor cursor
    cdef Text remark
    cdef const uint8_t *first
    cdef int32_t length
    cdef object ext = None
    if not 0 <= start <= data.shape[0] or data.shape[0] - start < REMARK_LENGTH_AT:
        raise ValueError("shorter than its fixed part")
    first = cursor.at = &data[start]
    cursor.end = first + (data.shape[0] - start)
    cursor.at += REMARK_LENGTH_AT
    if not read_length(&cursor, &length) or not read_text(&cursor, length, header_length, &remark):
        raise ValueError("the remark's length does not fit")
    if not read_length(&cursor, &length) or length > header_length:
        raise ValueError("the ext fields' length does not fit")
    if length > 0:
        ext = read_fields(&cursor, length, fields_max)
    return (
        read_int16(first + CODE_AT), first[LANGUAGE_AT], read_int16(first + VERSION_AT), read_int32(first + OPAQUE_AT),
        read_int32(first + FLAG_AT), ext, cursor.at - &data[0],
    )

"""Reads a binary request header (Java: RocketMQSerializable.rocketMQProtocolDecode).

The compiled twin of ``rocketns.protocol.spec.BINARY_HEADER``; tests/fast/test_codec.py holds the two
together. It decides everything: what it refuses is refused, and nothing falls back to Construct, which takes 16 µs a
field.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from rocketns._fast.codec.compact_json cimport Cursor, left
from rocketns._fast.codec.wire cimport (
    CODE_AT, FLAG_AT, KEY_LENGTH_BYTES, LANGUAGE_AT, OPAQUE_AT, REMARK_LENGTH_AT, VALUE_LENGTH_BYTES, VERSION_AT,
    read_uint32
)


cdef inline int16_t read_int16(const uint8_t *data) noexcept nogil:
    return <int16_t><uint16_t>((<uint16_t>data[0] << 8) | data[1])


cdef inline int32_t read_int32(const uint8_t *data) noexcept nogil:
    return <int32_t>read_uint32(data)


cdef inline bint take_text(Cursor *cursor, int64_t length, int64_t length_max, Cursor *text) noexcept nogil:
    """``length`` bytes as a cursor of their own; False where there are not so many, or more than ``length_max``."""
    if length < 0 or length > length_max or <size_t>length > left(cursor):
        return False
    text.at = cursor.at
    cursor.at += length
    text.end = cursor.at
    return True


cdef inline bint take_length(Cursor *cursor, int32_t *length) noexcept nogil:
    if left(cursor) < VALUE_LENGTH_BYTES:
        return False
    length[0] = read_int32(cursor.at)
    cursor.at += VALUE_LENGTH_BYTES
    return True


cdef inline bint take_pair(Cursor *cursor, int64_t length_max, Cursor *key, Cursor *value) noexcept nogil:
    """A key and its value. Java compares each length with that of the whole section."""
    cdef int32_t length
    if left(cursor) < KEY_LENGTH_BYTES:
        return False
    length = read_int16(cursor.at)
    cursor.at += KEY_LENGTH_BYTES
    if not take_text(cursor, length, length_max, key):
        return False
    return take_length(cursor, &length) and take_text(cursor, length, length_max, value)


cdef inline object text_of(const Cursor *text):
    return PyUnicode_DecodeUTF8(<const char *>text.at, <Py_ssize_t>left(text), "replace")


cdef dict take_fields(Cursor *cursor, int64_t ext_length, Py_ssize_t fields_max):
    """Java reads pairs until as many bytes are taken. An empty value is null; an empty key can never be asked for."""
    cdef Cursor key, value
    cdef const uint8_t *end_of_section = cursor.at + min(<size_t>ext_length, left(cursor))
    cdef bint complete = <size_t>ext_length <= left(cursor)
    cdef Py_ssize_t fields = 0
    cdef dict ext = {}
    while not complete or cursor.at < end_of_section:
        if not take_pair(cursor, ext_length, &key, &value):
            raise ValueError("an ext field's length does not fit")
        fields += 1
        if fields > fields_max:
            raise ValueError(f"more than {fields_max} fields")
        if left(&key):
            ext[text_of(&key)] = text_of(&value) if left(&value) else None
    return ext


def parse(const unsigned char[::1] data, Py_ssize_t start, Py_ssize_t header_length, Py_ssize_t fields_max):
    cdef Cursor cursor, remark
    cdef const uint8_t *first
    cdef int32_t length
    cdef object ext = None
    if not 0 <= start <= data.shape[0] or data.shape[0] - start < REMARK_LENGTH_AT:
        raise ValueError("shorter than its fixed part")
    first = cursor.at = &data[start]
    cursor.end = first + (data.shape[0] - start)
    cursor.at += REMARK_LENGTH_AT
    if not take_length(&cursor, &length) or not take_text(&cursor, length, header_length, &remark):
        raise ValueError("the remark's length does not fit")
    if not take_length(&cursor, &length) or length > header_length:
        raise ValueError("the ext fields' length does not fit")
    if length > 0:
        ext = take_fields(&cursor, length, fields_max)
    return (
        read_int16(first + CODE_AT), first[LANGUAGE_AT], read_int16(first + VERSION_AT), read_int32(first + OPAQUE_AT),
        read_int32(first + FLAG_AT), ext, cursor.at - &data[0],
    )

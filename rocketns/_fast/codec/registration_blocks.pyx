"""The blocks of an inflated RegisterBrokerBody: how far they reach, and the topics in them.

The compiled twin of ``rocketns.protocol.spec.COMPRESSED_REGISTRATION``; tests/fast/test_register_body.py
holds the two together. It decides everything, in time proportional to the bytes. Lengths and counts are compared with
the bytes that are there, and with limits.
"""

import unicodedata

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memchr

from rocketns._fast.codec.compact_json cimport Cursor, cursor_of, left, scan_int, take, take_bytes
from rocketns._fast.codec.wire cimport read_uint32

cdef enum:
    LENGTH_BYTES = 4
    NUMBERS = 3
    BASIC_PLANE_MAX = 0xFFFF  # Java reads digits by UTF-16 code unit
    NO_DIGIT = 0xFF

cdef enum Walk:
    REFUSED = -1
    UNFINISHED = 0
    TAKEN = 1


cdef struct Limits:
    int64_t topics
    int64_t mappings
    int64_t block_bytes
    int64_t topic_bytes_min
    int64_t mapping_bytes_min


cdef inline Walk take_number(Cursor *cursor, int64_t *number) noexcept nogil:
    if left(cursor) < LENGTH_BYTES:
        return UNFINISHED
    number[0] = <int32_t>read_uint32(cursor.at)
    cursor.at += LENGTH_BYTES
    return TAKEN


cdef inline Walk take_block(Cursor *cursor, int64_t bytes_min, int64_t bytes_max, Cursor *block) noexcept nogil:
    cdef int64_t length
    cdef Walk walk = take_number(cursor, &length)
    if walk != TAKEN:
        return walk
    if length < bytes_min or length > bytes_max:
        return REFUSED
    if <size_t>length > left(cursor):
        return UNFINISHED
    block.at = cursor.at
    cursor.at += length
    block.end = cursor.at
    return TAKEN


cdef Walk skip_list(Cursor *cursor, int64_t most, int64_t bytes_min, int64_t bytes_max) noexcept nogil:
    cdef Cursor block
    cdef int64_t count
    cdef Walk walk = take_number(cursor, &count)
    if walk == TAKEN and count > most:
        return REFUSED
    while walk == TAKEN and count > 0:  # Java's loops take a negative count too
        walk = take_block(cursor, bytes_min, bytes_max, &block)
        count -= 1
    return walk


cdef Walk skip_all(Cursor *cursor, bint mappings, const Limits *limits) noexcept nogil:
    cdef Cursor block
    cdef Walk walk = take_block(cursor, 0, limits.block_bytes, &block)
    if walk == TAKEN:
        walk = skip_list(cursor, limits.topics, limits.topic_bytes_min, limits.block_bytes)
    if walk == TAKEN:
        walk = take_block(cursor, 0, limits.block_bytes, &block)
    if walk == TAKEN and mappings:
        walk = skip_list(cursor, limits.mappings, limits.mapping_bytes_min, limits.block_bytes)
    return walk


cdef Limits limits_of(limits) except *:
    cdef Limits bounds
    bounds.topics, bounds.mappings, bounds.block_bytes = limits.topics, limits.mappings, limits.block_bytes
    bounds.topic_bytes_min, bounds.mapping_bytes_min = limits.topic_bytes_min, limits.mapping_bytes_min
    return bounds


def needs_more(const unsigned char[::1] data, bint mappings, limits):
    cdef Cursor cursor = cursor_of(data)
    cdef Limits bounds = limits_of(limits)
    return skip_all(&cursor, mappings, &bounds) == UNFINISHED


cdef inline object text_of(const uint8_t *at, const uint8_t *end):
    return PyUnicode_DecodeUTF8(<const char *>at, <Py_ssize_t>(end - at), "replace")


cdef bytes digits_by_unit = None  # 64 KiB, made for the first digit that is not ASCII


cdef int digit_of(Py_UCS4 char) except -2:
    """The value of a decimal digit of any script, -1 for another character."""
    global digits_by_unit
    cdef uint8_t digit
    cdef int ascii_digit = <int>char - 48
    if 0 <= ascii_digit <= 9:
        return ascii_digit
    if char < 0x80 or char > BASIC_PLANE_MAX:
        return -1
    if digits_by_unit is None:
        digits_by_unit = bytes([unicodedata.decimal(chr(unit), NO_DIGIT) for unit in range(BASIC_PLANE_MAX + 1)])
    digit = digits_by_unit[<Py_ssize_t>char]
    return -1 if digit == NO_DIGIT else digit


cdef int32_t digits_of(str text) except? -1:
    """Integer.parseInt: an optional sign and digits of any script. ValueError where Java throws."""
    cdef int64_t number = 0
    cdef int digit
    cdef Py_UCS4 char
    cdef Py_ssize_t place, first = 1 if text[:1] in ("+", "-") else 0
    cdef bint negative = text[:1] == "-"
    if len(text) == first:
        raise ValueError("a topic line has no number where one belongs")
    for place in range(first, len(text)):
        char = text[place]
        digit = digit_of(char)
        number = number * 10 + digit
        if digit < 0 or number > <int64_t>INT32_MAX + negative:
            raise ValueError("a topic line has no number where one belongs")
    return <int32_t>(-number if negative else number)


cdef int32_t take_int(Cursor *line) except? -1:
    """A number up to the next blank or the end."""
    cdef Cursor ahead = line[0]
    cdef int32_t number
    cdef const uint8_t *end
    if scan_int(&ahead, &number) and (left(&ahead) == 0 or ahead.at[0] == c' '):
        line[0] = ahead
        return number
    end = <const uint8_t *>memchr(line.at, c' ', left(line)) if left(line) else NULL
    if end == NULL:
        end = line.end
    number = digits_of(text_of(line.at, end))
    line.at = end
    return number


cdef object queues_of(Cursor *line, queue_data):
    """What follows a topic's name: read and write queues, permission, filter type; attributes are not needed."""
    cdef int32_t numbers[NUMBERS]
    for place in range(NUMBERS):
        if not take(line, c' ') or left(line) == 0:
            raise ValueError("a topic line has fewer than five parts")
        numbers[place] = take_int(line)
    if not take_bytes(line, " SINGLE_TAG", 11) and not take_bytes(line, " MULTI_TAG", 10):
        raise ValueError("a topic line has no filter type")
    if left(line) and line.at[0] != c' ':
        raise ValueError("a topic line has no filter type")
    return queue_data(numbers[0], numbers[1], numbers[2], 0)


cdef int add_topic(Cursor *line, queue_data, dict queues) except -1:
    cdef const uint8_t *start = line.at
    cdef const uint8_t *space = <const uint8_t *>memchr(line.at, c' ', left(line)) if left(line) else NULL
    if space == NULL:
        raise ValueError("a topic line has fewer than five parts")
    line.at = space
    queues[text_of(start, space)] = queues_of(line, queue_data)
    return 0


cdef bytes bytes_of(const Cursor *block):
    return block.at[:left(block)] if left(block) else b""


def read(const unsigned char[::1] data, bint mappings, limits, queue_data):
    cdef Cursor cursor = cursor_of(data), block = cursor, walked = cursor
    cdef Limits bounds = limits_of(limits)
    cdef int64_t count = 0
    cdef dict queues = {}
    cdef list infos = []
    if skip_all(&walked, mappings, &bounds) != TAKEN:
        raise ValueError("End of compressed data has reached")
    take_block(&cursor, 0, bounds.block_bytes, &block)
    version = bytes_of(&block)
    take_number(&cursor, &count)
    while count > 0:
        count -= 1
        take_block(&cursor, bounds.topic_bytes_min, bounds.block_bytes, &block)
        add_topic(&block, queue_data, queues)
    take_block(&cursor, 0, bounds.block_bytes, &block)
    filters = bytes_of(&block)
    count = 0
    if mappings:
        take_number(&cursor, &count)
    while count > 0:
        count -= 1
        take_block(&cursor, bounds.mapping_bytes_min, bounds.block_bytes, &block)
        infos.append(bytes_of(&block))
    return version, queues, filters, infos

"""The opaque and the flag of any request, in both header forms; whatever needs the reference is for control.

The compiled twin of ``rocketns.protocol.command.decode`` for these two numbers: what is read here is well formed there,
with the same numbers. tests/fast/test_lookup.py holds them together.
"""

from libc.stdint cimport uint32_t

from rocketns._fast.codec.compact_json cimport (
    MEMBER, NO_MORE, Cursor, Member, Text, left, next_member, scan_ascii, scan_int, skip_value, take
)
from rocketns._fast.codec.route_request cimport CODE, EXT_FIELDS, FLAG, OPAQUE, REMARK, VERSION, member_of, take_pair
from rocketns._fast.codec.wire cimport (
    FIXED_BYTES, FLAG_AT, HEAD_BYTES, HEADER_LENGTH_MASK, HEADER_WORD_AT, OPAQUE_AT, REMARK_LENGTH_AT,
    SERIALIZE_TYPE_SHIFT, VALUE_LENGTH_BYTES, read_uint32
)

cdef enum:
    SERIALIZE_JSON = 0
    SERIALIZE_ROCKETMQ = 1
    HEADER_BYTES_MAX = 65_536  # so many values are counted in control; a header of fewer bytes has not more

cdef enum:
    NEEDED = CODE | OPAQUE


cdef bint skip_texts(Cursor *cursor) noexcept nogil:
    """An object whose values are texts in ASCII."""
    cdef Text key
    cdef bint first = True
    cdef Member more
    if not take(cursor, c'{'):
        return False
    while True:
        more = next_member(cursor, &first, &key)
        if more != MEMBER:
            return more == NO_MORE
        cursor.at = key.start - 1
        if not scan_ascii(cursor) or not take(cursor, c':') or not scan_ascii(cursor):
            return False


cdef bint read_member(Cursor *cursor, RequestHead *head, int member) noexcept nogil:
    cdef int32_t ignored
    if member == CODE or member == VERSION:
        return scan_int(cursor, &ignored)
    if member == FLAG:
        return scan_int(cursor, &head.flag)
    if member == OPAQUE:
        return scan_int(cursor, &head.opaque)
    if member == EXT_FIELDS:
        return skip_texts(cursor)
    if member == REMARK:
        return skip_value(cursor, 0)
    return member != 0 and scan_ascii(cursor)


cdef bint read_json(Cursor *cursor, RequestHead *head) noexcept nogil:
    cdef Text key
    cdef bint first = True
    cdef int seen = 0, member
    cdef Member more
    if not take(cursor, c'{'):
        return False
    while True:
        more = next_member(cursor, &first, &key)
        if more != MEMBER:
            take(cursor, c'\n')  # the C++ client's writer ends with it
            return more == NO_MORE and left(cursor) == 0 and seen & NEEDED == NEEDED
        member = member_of(&key)
        if seen & member or not read_member(cursor, head, member):
            return False
        seen |= member


cdef bint read_binary(Cursor *cursor, RequestHead *head) noexcept nogil:
    """A header without remark whose fields end with it."""
    cdef const uint8_t *fixed = cursor.at
    cdef Text key, value
    if left(cursor) < FIXED_BYTES or read_uint32(fixed + REMARK_LENGTH_AT) != 0:
        return False
    head.opaque, head.flag = <int32_t>read_uint32(fixed + OPAQUE_AT), <int32_t>read_uint32(fixed + FLAG_AT)
    cursor.at += FIXED_BYTES
    if read_uint32(fixed + REMARK_LENGTH_AT + VALUE_LENGTH_BYTES) != left(cursor):
        return False
    while left(cursor):
        if not take_pair(cursor, &key, &value):
            return False
    return True


cdef bint read_head(const uint8_t *frame, size_t size, RequestHead *head) noexcept nogil:
    """Whether a whole frame, as `wire.frame_size` found it, is a request that needs no reference."""
    cdef Cursor cursor
    cdef uint32_t word = read_uint32(frame + HEADER_WORD_AT)
    cdef size_t header_length = word & HEADER_LENGTH_MASK
    if header_length > size - HEAD_BYTES or header_length > HEADER_BYTES_MAX:
        return False
    cursor.at = frame + HEAD_BYTES
    cursor.end = cursor.at + header_length
    head.opaque = head.flag = 0
    if word >> SERIALIZE_TYPE_SHIFT == SERIALIZE_JSON:
        return read_json(&cursor, head)
    return word >> SERIALIZE_TYPE_SHIFT == SERIALIZE_ROCKETMQ and read_binary(&cursor, head)

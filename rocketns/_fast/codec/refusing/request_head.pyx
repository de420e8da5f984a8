"""The opaque and the flag of any request, in both header forms; whatever needs the reference is for control.

The compiled twin of ``rocketns.protocol.command.decode`` for these two numbers: what is read here is well formed there,
with the same numbers. tests/fast/codec/test_request_head.py holds them together.
"""

from libc.stdint cimport int16_t, uint32_t

from rocketns._fast.codec.compact_json cimport (
    MEMBER,
    NO_MORE,
    Cursor,
    Member,
    Text,
    is_text,
    left,
    next_member,
    scan_ascii,
    scan_int,
    skip_value,
    take,
)
from rocketns._fast.codec.wire cimport (
    FIXED_BYTES,
    FLAG_AT,
    HEAD_BYTES,
    HEADER_LENGTH_MASK,
    HEADER_WORD_AT,
    KEY_LENGTH_BYTES,
    OPAQUE_AT,
    REMARK_LENGTH_AT,
    SERIALIZE_TYPE_SHIFT,
    VALUE_LENGTH_BYTES,
    read_uint32,
)

cdef enum:
    SERIALIZE_JSON = 0
    SERIALIZE_ROCKETMQ = 1
    HEADER_BYTES_MAX = 65_536  # so many values are counted in control; a header of fewer bytes has not more

# Members of a JSON header, as bits.
cdef enum:
    CODE = 1
    FLAG = 2
    OPAQUE = 4
    VERSION = 8
    LANGUAGE = 16
    EXT_FIELDS = 32
    SERIALIZE_TYPE = 64
    REMARK = 128
    NEEDED = CODE | OPAQUE


cdef inline int member_of(const Text *key) noexcept nogil:
    if key.length == 4:
        return CODE if is_text(key, "code", 4) else FLAG if is_text(key, "flag", 4) else 0
    if key.length == 6:
        return OPAQUE if is_text(key, "opaque", 6) else REMARK if is_text(key, "remark", 6) else 0
    if key.length == 7:
        return VERSION if is_text(key, "version", 7) else 0
    if key.length == 8:
        return LANGUAGE if is_text(key, "language", 8) else 0
    if key.length == 9:
        return EXT_FIELDS if is_text(key, "extFields", 9) else 0
    return SERIALIZE_TYPE if is_text(key, "serializeTypeCurrentRPC", 23) else 0


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


cdef bint skip_pair(Cursor *cursor) noexcept nogil:
    cdef int length
    cdef uint32_t value_length
    if left(cursor) < KEY_LENGTH_BYTES:
        return False
    length = <int16_t>((<uint32_t>cursor.at[0] << 8) | cursor.at[1])
    cursor.at += KEY_LENGTH_BYTES
    if length < 0 or left(cursor) < <size_t>length + VALUE_LENGTH_BYTES:
        return False
    value_length = read_uint32(cursor.at + length)
    cursor.at += length + VALUE_LENGTH_BYTES
    if left(cursor) < value_length:
        return False
    cursor.at += value_length
    return True


cdef bint read_binary(Cursor *cursor, RequestHead *head) noexcept nogil:
    """A header without remark whose fields end with it."""
    cdef const uint8_t *fixed = cursor.at
    if left(cursor) < FIXED_BYTES or read_uint32(fixed + REMARK_LENGTH_AT) != 0:
        return False
    head.opaque, head.flag = <int32_t>read_uint32(fixed + OPAQUE_AT), <int32_t>read_uint32(fixed + FLAG_AT)
    cursor.at += FIXED_BYTES
    if read_uint32(fixed + REMARK_LENGTH_AT + VALUE_LENGTH_BYTES) != left(cursor):
        return False
    while left(cursor):
        if not skip_pair(cursor):
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

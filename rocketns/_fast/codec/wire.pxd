"""What compiled callers may use of wire.pyx."""

from libc.stdint cimport int16_t, int64_t, uint16_t, uint32_t, uint8_t

from rocketns._fast.codec.compact_json cimport Cursor, Text

cdef enum:
    MALFORMED = -1
    NEED_MORE = 0

# Where a frame's parts are, in bytes: the length of what follows, a word of serialize type and header length, the
# header.
cdef enum:
    LENGTH_BYTES = 4
    WORD_BYTES = 4
    HEADER_WORD_AT = LENGTH_BYTES
    HEAD_BYTES = LENGTH_BYTES + WORD_BYTES
    HEADER_LENGTH_MASK = 0xFFFFFF
    SERIALIZE_TYPE_SHIFT = 24

cdef enum:
    SERIALIZE_JSON = 0
    SERIALIZE_ROCKETMQ = 1

# Where the fixed parts of a binary header are (RocketMQSerializable.rocketMQProtocolEncode), in bytes.
cdef enum:
    CODE_AT = 0
    LANGUAGE_AT = CODE_AT + 2
    VERSION_AT = LANGUAGE_AT + 1
    OPAQUE_AT = VERSION_AT + 2
    FLAG_AT = OPAQUE_AT + 4
    REMARK_LENGTH_AT = FLAG_AT + 4
    FIELDS_LENGTH_AT = REMARK_LENGTH_AT + 4  # where the remark is empty
    FIXED_BYTES = FIELDS_LENGTH_AT + 4

# What tells a length: of a key; of a value, a remark or all fields.
cdef enum:
    KEY_LENGTH_BYTES = 2
    VALUE_LENGTH_BYTES = 4

cdef int64_t frame_size(const uint8_t *data, size_t available, uint32_t frame_size_max) noexcept nogil
cdef bint read_pair(Cursor *cursor, int64_t length_max, Text *key, Text *value) noexcept nogil


cdef inline uint32_t read_uint32(const uint8_t *data) noexcept nogil:
    """A big-endian word; the caller has checked that 4 bytes are there."""
    return (<uint32_t>data[0] << 24) | (<uint32_t>data[1] << 16) | (<uint32_t>data[2] << 8) | <uint32_t>data[3]


cdef inline int16_t read_int16(const uint8_t *data) noexcept nogil:
    return <int16_t><uint16_t>((<uint16_t>data[0] << 8) | data[1])

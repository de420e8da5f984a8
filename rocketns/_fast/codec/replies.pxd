"""The answers of reactors as Java writes them (``rocketns.protocol.encoding.encode_reply``): a route's head, and refusals.

``version`` is the release of RocketMQ that the answers follow (``rocketns.protocol.codes.RELEASES``).
"""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint32_t, uint8_t
from libc.string cimport memcpy

from rocketns._fast.codec.compact_json cimport Text
from rocketns._fast.codec.wire cimport (
    CODE_AT, FLAG_AT, HEAD_BYTES, HEADER_WORD_AT, LANGUAGE_AT, LENGTH_BYTES, OPAQUE_AT, REMARK_LENGTH_AT,
    SERIALIZE_TYPE_SHIFT, VERSION_AT, WORD_BYTES
)

cdef enum:
    JSON = 0
    ROCKETMQ = 1
    V5_5_1 = 515  # the first whose answers name the new address of the FAQ
    TOPIC_NOT_EXIST = 17
    LANGUAGE_JAVA = 0
    FLAG_RESPONSE = 1
    HEAD_BYTES_MAX = 512  # besides the topic
    INT_DIGITS_MAX = 11

cdef extern from *:
    """
    #define ROCKETNS_BEFORE_OPAQUE "\\"flag\\":1,\\"language\\":\\"JAVA\\",\\"opaque\\":"
    #define ROCKETNS_NO_ROUTE "No topic route info in name server for the topic: "
    #define ROCKETNS_SEE "See https://rocketmq.apache.org/docs/faq/ for further details."
    #define ROCKETNS_SEE_5_5_0 "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    static const char rocketns_success[] = "{\\"code\\":0," ROCKETNS_BEFORE_OPAQUE;
    static const char rocketns_absent[] = "{\\"code\\":17," ROCKETNS_BEFORE_OPAQUE;
    static const char rocketns_remark[] = ",\\"remark\\":\\"" ROCKETNS_NO_ROUTE;
    static const char rocketns_see[] = "\\\\n" ROCKETNS_SEE "\\"";
    static const char rocketns_see_5_5_0[] = "\\\\n" ROCKETNS_SEE_5_5_0 "\\"";
    static const char rocketns_end[] = ",\\"serializeTypeCurrentRPC\\":\\"JSON\\",\\"version\\":";
    static const char rocketns_plain_remark[] = ROCKETNS_NO_ROUTE;
    static const char rocketns_plain_see[] = "\\n" ROCKETNS_SEE;
    static const char rocketns_plain_see_5_5_0[] = "\\n" ROCKETNS_SEE_5_5_0;
    """
    const char success_start "rocketns_success"[]
    const char absent_start "rocketns_absent"[]
    const char remark_start "rocketns_remark"[]
    const char remark_end "rocketns_see"[]
    const char remark_end_5_5_0 "rocketns_see_5_5_0"[]
    const char json_end "rocketns_end"[]
    const char plain_remark_start "rocketns_plain_remark"[]
    const char plain_remark_end "rocketns_plain_see"[]
    const char plain_remark_end_5_5_0 "rocketns_plain_see_5_5_0"[]


cdef inline uint8_t *put(uint8_t *out, const void *start, size_t length) noexcept nogil:
    memcpy(out, start, length)
    return out + length


cdef inline uint8_t *put_uint32(uint8_t *out, uint32_t value) noexcept nogil:
    out[0], out[1], out[2], out[3] = value >> 24, (value >> 16) & 0xFF, (value >> 8) & 0xFF, value & 0xFF
    return out + 4


cdef inline uint8_t *put_decimal(uint8_t *out, int32_t value) noexcept nogil:
    cdef uint8_t digits[INT_DIGITS_MAX]
    cdef int place = INT_DIGITS_MAX
    cdef uint32_t magnitude = <uint32_t>value if value >= 0 else 0 - <uint32_t>value
    while True:
        place -= 1
        digits[place] = <uint8_t>(c'0' + magnitude % 10)
        magnitude //= 10
        if magnitude == 0:
            break
    if value < 0:
        place -= 1
        digits[place] = c'-'
    return put(out, &digits[place], <size_t>(INT_DIGITS_MAX - place))


cdef inline uint8_t *put_fixed(
    uint8_t *out, int code, int version, int32_t opaque, uint32_t remark_length
) noexcept nogil:
    """A binary header up to its remark."""
    out[CODE_AT], out[CODE_AT + 1], out[LANGUAGE_AT] = 0, code, LANGUAGE_JAVA
    out[VERSION_AT], out[VERSION_AT + 1] = version >> 8, version & 0xFF
    put_uint32(out + OPAQUE_AT, <uint32_t>opaque)
    put_uint32(out + FLAG_AT, FLAG_RESPONSE)
    return put_uint32(out + REMARK_LENGTH_AT, remark_length)


cdef inline uint8_t *close_head(uint8_t *frame, uint8_t *end, int serialize_type) noexcept nogil:
    """Fill in the first two words of a frame without body, now that the header's end is known."""
    cdef uint32_t header_length = <uint32_t>(end - frame - HEAD_BYTES)
    put_uint32(frame, WORD_BYTES + header_length)
    put_uint32(frame + HEADER_WORD_AT, (<uint32_t>serialize_type << SERIALIZE_TYPE_SHIFT) | header_length)
    return end


cdef inline uint8_t *put_json_end(uint8_t *out, int version) noexcept nogil:
    out = put_decimal(put(out, json_end, sizeof(json_end) - 1), version)
    out[0] = c'}'
    return out + 1


cdef inline uint8_t *put_success(uint8_t *frame, int32_t opaque, int serialize_type, int version) noexcept nogil:
    """Everything before a body whose size `put_body_size` tells later; at most HEAD_BYTES_MAX bytes."""
    cdef uint8_t *out = frame + HEAD_BYTES
    if serialize_type == ROCKETMQ:
        return close_head(frame, put_uint32(put_fixed(out, 0, version, opaque, 0), 0), serialize_type)
    out = put(out, success_start, sizeof(success_start) - 1)
    out = put_decimal(out, opaque)
    return close_head(frame, put_json_end(out, version), serialize_type)


cdef inline void put_body_size(uint8_t *frame, const uint8_t *body, size_t body_size) noexcept nogil:
    put_uint32(frame, <uint32_t>(body - frame - LENGTH_BYTES + body_size))


cdef inline uint8_t *put_absent(
    uint8_t *frame, int32_t opaque, int serialize_type, int version, const Text *topic
) noexcept nogil:
    """The whole answer for a topic without route; at most HEAD_BYTES_MAX and the topic's length."""
    cdef uint8_t *out = frame + HEAD_BYTES
    if serialize_type == ROCKETMQ:
        return close_head(frame, put_plain_absent(out, opaque, version, topic), serialize_type)
    out = put(out, absent_start, sizeof(absent_start) - 1)
    out = put_decimal(out, opaque)
    out = put(out, remark_start, sizeof(remark_start) - 1)
    out = put(out, topic.start, topic.length)
    if version < V5_5_1:
        out = put(out, remark_end_5_5_0, sizeof(remark_end_5_5_0) - 1)
    else:
        out = put(out, remark_end, sizeof(remark_end) - 1)
    return close_head(frame, put_json_end(out, version), serialize_type)


cdef inline uint8_t *put_plain_absent(uint8_t *out, int32_t opaque, int version, const Text *topic) noexcept nogil:
    """A binary header; its length of the remark comes before the remark."""
    cdef uint8_t *fixed = out
    cdef uint8_t *remark = put_fixed(fixed, TOPIC_NOT_EXIST, version, opaque, 0)
    out = put(remark, plain_remark_start, sizeof(plain_remark_start) - 1)
    out = put(out, topic.start, topic.length)
    if version < V5_5_1:
        out = put(out, plain_remark_end_5_5_0, sizeof(plain_remark_end_5_5_0) - 1)
    else:
        out = put(out, plain_remark_end, sizeof(plain_remark_end) - 1)
    put_uint32(fixed + REMARK_LENGTH_AT, <uint32_t>(out - remark))
    return put_uint32(out, 0)

cdef enum:
    SYSTEM_BUSY = 2

cdef extern from *:
    """
    #define ROCKETNS_BUSY "[RATE]too many requests of this address, slow down"
    static const char rocketns_busy[] = "{\\"code\\":2,\\"flag\\":1,\\"language\\":\\"JAVA\\",\\"opaque\\":";
    static const char rocketns_busy_remark[] = ",\\"remark\\":\\"" ROCKETNS_BUSY "\\"";
    static const char rocketns_plain_busy[] = ROCKETNS_BUSY;
    """
    const char busy_start "rocketns_busy"[]
    const char busy_remark "rocketns_busy_remark"[]
    const char plain_busy "rocketns_plain_busy"[]


cdef inline uint8_t *put_busy(uint8_t *frame, int32_t opaque, int serialize_type, int version) noexcept nogil:
    """The whole answer; at most HEAD_BYTES_MAX bytes."""
    cdef uint8_t *out = frame + HEAD_BYTES
    if serialize_type == ROCKETMQ:
        out = put_fixed(out, SYSTEM_BUSY, version, opaque, sizeof(plain_busy) - 1)
        return close_head(frame, put_uint32(put(out, plain_busy, sizeof(plain_busy) - 1), 0), serialize_type)
    out = put_decimal(put(out, busy_start, sizeof(busy_start) - 1), opaque)
    out = put(out, busy_remark, sizeof(busy_remark) - 1)
    return close_head(frame, put_json_end(out, version), serialize_type)

"""The answers of reactors as Java writes them (``rocketns.protocol.encoding.encode_reply``): a route's head, and
refusals.

``version`` is the release of RocketMQ that the answers follow (``rocketns.protocol.codes.RELEASES``).
"""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint32_t, uint8_t
from libc.string cimport memcpy, strlen

from rocketns._fast.codec.compact_json cimport Text
from rocketns._fast.codec.wire cimport (
    CODE_AT, FLAG_AT, HEAD_BYTES, HEADER_WORD_AT, LANGUAGE_AT, LENGTH_BYTES, OPAQUE_AT, REMARK_LENGTH_AT,
    SERIALIZE_JSON, SERIALIZE_ROCKETMQ, SERIALIZE_TYPE_SHIFT, VERSION_AT, WORD_BYTES
)

cdef enum:
    V5_5_1 = 515  # the first whose answers name the new address of the FAQ
    SYSTEM_BUSY = 2
    TOPIC_NOT_EXIST = 17
    LANGUAGE_JAVA = 0
    FLAG_RESPONSE = 1
    HEAD_BYTES_MAX = 512  # besides the topic
    INT_DIGITS_MAX = 11

cdef extern from *:
    """
    #define ROCKETNS_BEHIND_CODE ",\\"flag\\":1,\\"language\\":\\"JAVA\\",\\"opaque\\":"
    static const char rocketns_success[] = "{\\"code\\":0" ROCKETNS_BEHIND_CODE;
    static const char rocketns_error[] = "{\\"code\\":";
    static const char rocketns_behind_code[] = ROCKETNS_BEHIND_CODE;
    static const char rocketns_remark[] = ",\\"remark\\":\\"";
    static const char rocketns_end[] = ",\\"serializeTypeCurrentRPC\\":\\"JSON\\",\\"version\\":";
    static const char rocketns_json_newline[] = "\\\\n";
    static const char rocketns_newline[] = "\\n";
    static const char rocketns_no_route[] = "No topic route info in name server for the topic: ";
    static const char rocketns_see[] = "See https://rocketmq.apache.org/docs/faq/ for further details.";
    static const char rocketns_see_5_5_0[] =
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";
    static const char rocketns_busy[] = "[RATE]too many requests of this address, slow down";
    """
    const char *success_start "rocketns_success"
    const char *error_start "rocketns_error"
    const char *behind_code "rocketns_behind_code"
    const char *remark_start "rocketns_remark"
    const char *json_end "rocketns_end"
    const char *json_newline "rocketns_json_newline"
    const char *newline "rocketns_newline"
    const char *see "rocketns_see"
    const char *see_5_5_0 "rocketns_see_5_5_0"
    # Remarks, which are the same in JSON.
    const char *NO_ROUTE "rocketns_no_route"
    const char *TOO_MANY_REQUESTS "rocketns_busy"


cdef inline uint8_t *put(uint8_t *out, const void *start, size_t length) noexcept nogil:
    memcpy(out, start, length)
    return out + length


cdef inline uint8_t *put_string(uint8_t *out, const char *string) noexcept nogil:
    return put(out, string, strlen(string))


cdef inline uint8_t *put_uint32(uint8_t *out, uint32_t value) noexcept nogil:
    out[0], out[1], out[2], out[3] = value >> 24, (value >> 16) & 0xFF, (value >> 8) & 0xFF, value & 0xFF
    return out + 4


cdef inline uint8_t *put_decimal(uint8_t *out, int32_t value) noexcept nogil:
    cdef uint8_t digits[INT_DIGITS_MAX]
    cdef int index = INT_DIGITS_MAX
    cdef uint32_t magnitude = <uint32_t>value if value >= 0 else 0 - <uint32_t>value
    while True:
        index -= 1
        digits[index] = <uint8_t>(c'0' + magnitude % 10)
        magnitude //= 10
        if magnitude == 0:
            break
    if value < 0:
        index -= 1
        digits[index] = c'-'
    return put(out, &digits[index], <size_t>(INT_DIGITS_MAX - index))


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
    out = put_decimal(put_string(out, json_end), version)
    out[0] = c'}'
    return out + 1


cdef inline uint8_t *put_success(uint8_t *frame, int32_t opaque, int serialize_type, int version) noexcept nogil:
    """Everything before a body whose size `put_body_size` tells later; at most HEAD_BYTES_MAX bytes."""
    cdef uint8_t *out = frame + HEAD_BYTES
    if serialize_type == SERIALIZE_JSON:
        out = put_json_end(put_decimal(put_string(out, success_start), opaque), version)
    else:
        out = put_uint32(put_fixed(out, 0, version, opaque, 0), 0)
    return close_head(frame, out, serialize_type)


cdef inline void put_body_size(uint8_t *frame, const uint8_t *body, size_t body_size) noexcept nogil:
    put_uint32(frame, <uint32_t>(body - frame - LENGTH_BYTES + body_size))


cdef inline uint8_t *put_error(
    uint8_t *frame, int code, int32_t opaque, int serialize_type, int version, const char *reason, const Text *topic
) noexcept nogil:
    """The whole answer; at most HEAD_BYTES_MAX and the topic's length. A topic that is not NULL belongs to the remark,
    and so does the address of the FAQ then.
    """
    cdef bint is_json = serialize_type == SERIALIZE_JSON
    cdef uint8_t *head = frame + HEAD_BYTES
    cdef uint8_t *remark
    cdef uint8_t *out
    if is_json:
        out = put_string(put_decimal(put_string(head, error_start), code), behind_code)
        remark = put_string(put_decimal(out, opaque), remark_start)
    else:
        remark = put_fixed(head, code, version, opaque, 0)
    out = put_string(remark, reason)
    if topic != NULL:
        out = put_string(put(out, topic.start, topic.length), json_newline if is_json else newline)
        out = put_string(out, see_5_5_0 if version < V5_5_1 else see)
    if is_json:
        out[0] = c'"'
        out = put_json_end(out + 1, version)
    else:
        put_uint32(head + REMARK_LENGTH_AT, <uint32_t>(out - remark))
        out = put_uint32(out, 0)
    return close_head(frame, out, serialize_type)

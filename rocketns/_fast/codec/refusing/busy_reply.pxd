"""The answer to a request beyond the rate of its host (``rocketns.protocol.encoding.encode_reply``)."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from rocketns._fast.codec.route_reply cimport (
    HEAD_BYTES_MAX, ROCKETMQ, close_head, put, put_decimal, put_fixed, put_json_end, put_uint32
)
from rocketns._fast.codec.wire cimport HEAD_BYTES

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

"""What compiled callers may use of wire.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    MALFORMED = -1
    NEED_MORE = 0

cdef int64_t frame_size(const uint8_t *data, size_t available, uint32_t frame_size_max) noexcept nogil


cdef inline uint32_t read_uint32(const uint8_t *data) noexcept nogil:
    """A big-endian word; the caller has checked that 4 bytes are there."""
    return (<uint32_t>data[0] << 24) | (<uint32_t>data[1] << 16) | (<uint32_t>data[2] << 8) | <uint32_t>data[3]

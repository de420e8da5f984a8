"""What compiled callers may use of wire.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef int64_t frame_size(const uint8_t *data, size_t available, uint32_t frame_size_max) noexcept nogil

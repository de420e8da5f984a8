"""What compiled callers may use of register_body.pyx."""

from libc.stdint cimport int32_t, int64_t

from rocketns._fast.codec.compact_json cimport Cursor, Text

cdef struct Version:
    int64_t state_version
    int64_t timestamp
    int64_t counter

# numbers: readQueueNums, writeQueueNums, perm, topicSysFlag
cdef struct Topic:
    Text key
    Text name
    int32_t numbers[4]

cdef bint scan_version(Cursor *cursor, Version *version) noexcept nogil
cdef bint scan_topic(Cursor *cursor, Topic *topic) noexcept nogil
cdef bint scan_line(Cursor *line, Topic *topic) noexcept nogil

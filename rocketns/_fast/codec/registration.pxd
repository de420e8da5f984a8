"""What compiled callers may use of registration.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from rocketns._fast.codec.compact_json cimport (
    MEMBER, NO_MORE, Cursor, Member, Text, is_ascii, is_text, left, next_member, scan_int, scan_long, scan_text,
    skip_object, skip_value, take
)

cdef enum:
    DEFAULT_QUEUE_NUMS = 16
    DEFAULT_PERM = 6

# Members of a TopicConfig; the first four are places in Topic.numbers.
cdef enum:
    READ = 0
    WRITE = 1
    PERM = 2
    SYS_FLAG = 3
    NAME = 4
    ATTRIBUTES = 5
    OTHER = 6

cdef struct Version:
    int64_t state_version
    int64_t timestamp
    int64_t counter

# key is the topic's key in the table, and name its topicName.
cdef struct Topic:
    Text key
    Text name
    int32_t numbers[4]


cdef inline bint scan_version(Cursor *cursor, Version *version) noexcept nogil:
    """A DataVersion. Its timestamp must be there: the twin's default is the clock."""
    cdef Text key
    cdef int64_t *value
    cdef int seen = 0, bit
    cdef bint first = True
    cdef Member more
    version.state_version = version.timestamp = version.counter = 0
    if not take(cursor, c'{'):
        return False
    while True:
        more = next_member(cursor, &first, &key)
        if more != MEMBER:
            return more == NO_MORE and seen & 2
        if is_text(&key, "stateVersion", 12):
            value, bit = &version.state_version, 1
        elif is_text(&key, "timestamp", 9):
            value, bit = &version.timestamp, 2
        elif is_text(&key, "counter", 7):
            value, bit = &version.counter, 4
        else:
            return False
        if seen & bit or not scan_long(cursor, value):
            return False
        seen |= bit


cdef inline int field_of(const Text *key) noexcept nogil:
    """Which member of a TopicConfig a key is. No two of them have the same length."""
    if key.length == 4:
        return PERM if is_text(key, "perm", 4) else OTHER
    if key.length == 9:
        return NAME if is_text(key, "topicName", 9) else OTHER
    if key.length == 10:
        return ATTRIBUTES if is_text(key, "attributes", 10) else OTHER
    if key.length == 12:
        return SYS_FLAG if is_text(key, "topicSysFlag", 12) else OTHER
    if key.length == 13:
        return READ if is_text(key, "readQueueNums", 13) else OTHER
    if key.length == 14:
        return WRITE if is_text(key, "writeQueueNums", 14) else OTHER
    return OTHER


cdef inline bint scan_topic(Cursor *cursor, Topic *topic) noexcept nogil:
    """A TopicConfig into ``name`` and ``numbers``. Its name must be there; ``key`` stays what it was."""
    cdef Text key
    cdef int field, seen = 0
    cdef bint first = True, taken
    cdef Member more
    topic.numbers[READ] = topic.numbers[WRITE] = DEFAULT_QUEUE_NUMS
    topic.numbers[PERM] = DEFAULT_PERM
    topic.numbers[SYS_FLAG] = 0
    if not take(cursor, c'{'):
        return False
    while True:
        more = next_member(cursor, &first, &key)
        if more != MEMBER:
            return more == NO_MORE and seen & (1 << NAME)
        field = field_of(&key)
        if field == OTHER:
            taken = is_ascii(&key) and skip_value(cursor, 0)
        elif seen & (1 << field):
            return False
        elif field == NAME:
            taken = scan_text(cursor, &topic.name)
        elif field == ATTRIBUTES:
            taken = skip_object(cursor, 0)
        else:
            taken = scan_int(cursor, &topic.numbers[field])
        if not taken:
            return False
        seen |= 1 << field

cdef enum Standing:
    NEW  # nothing is known of this topic
    CHANGED  # known, but not as the registration has it
    UNCHANGED  # known exactly so
    REPEATED  # its key came before in this registration

# Asked about each topic of one registration, in order. This class knows no topic; subclasses do.
# Except for NEW and REPEATED, look_up sets key to the topic's key as a borrowed reference to a str.
cdef class KnownTopics:
    cdef Standing look_up(self, const Topic *topic, void **key) noexcept

"""The plain body of REGISTER_BROKER: what a broker says of its topics (Java: RegisterBrokerBody).

The compiled twin of ``rocketns.protocol.body.register_broker_body.decode_register_broker_body``, called for JSON
of another form; tests/fast/test_register_body.py compares the two. This parser takes what brokers write. It declines
everything else, valid or not, and the twin then decides. The map of static topics is returned as bytes: the twin reads
those. The functions that scan text do not need the GIL; only `_Body` makes Python objects.

The blocks of an inflated RegisterBrokerBody: how far they reach, and the topics in them.

The compiled twin of ``rocketns.protocol.spec.COMPRESSED_REGISTRATION``; tests/fast/test_register_body.py
holds the two together. It decides everything, in time proportional to the bytes. Lengths and counts are compared with
the bytes that are there, and with limits.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcmp, memcpy

from rocketns._fast.codec.compact_json cimport (
    COMPLETE, NOT_BEGUN, Cursor, Reading, cursor_of, is_ascii, is_text, left, next_item, next_member, same_text,
    scan_int, scan_long, scan_text, skip_object, skip_value, take, match_bytes
)
from rocketns._fast.codec.wire cimport LENGTH_BYTES, read_uint32

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

# As rocketns.protocol.bounds has them.
cdef enum:
    BLOCKS_MAX = 100_000
    FILTER_SERVERS_MAX = 10_000
    MAPPINGS_MAX = 10_000
    BLOCK_BYTES_MAX = 1_048_576
    TOPIC_LINE_BYTES_MIN = 16
    MAPPING_BYTES_MIN = 11

REPLACEMENT = "\ufffd"  # also of bytes that are not UTF-8


cdef class RegisteredTopics:
    cdef TopicState look_up(self, const Topic *topic, void **key) noexcept:
        return NEW


cdef inline bint scan_version(Cursor *cursor, Version *version) noexcept nogil:
    """A DataVersion. Its timestamp must be there: the twin's default is the clock."""
    cdef Text key
    cdef int64_t *value
    cdef int seen = 0, bit
    cdef Reading reading = NOT_BEGUN
    version.state_version = version.timestamp = version.counter = 0
    while next_member(cursor, &reading, &key):
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
    return reading == COMPLETE and seen & 2


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
    cdef bint taken
    cdef Reading reading = NOT_BEGUN
    topic.numbers[READ] = topic.numbers[WRITE] = DEFAULT_QUEUE_NUMS
    topic.numbers[PERM] = DEFAULT_PERM
    topic.numbers[SYS_FLAG] = 0
    while next_member(cursor, &reading, &key):
        field = field_of(&key)
        if field == OTHER:
            taken = is_ascii(&key) and skip_value(cursor, 0, False)
        elif seen & (1 << field):
            return False
        elif field == NAME:
            taken = scan_text(cursor, &topic.name)
        elif field == ATTRIBUTES:
            taken = skip_object(cursor, 0, False)
        else:
            taken = scan_int(cursor, &topic.numbers[field])
        if not taken:
            return False
        seen |= 1 << field
    return reading == COMPLETE and seen & (1 << NAME)


cdef class _Topics:
    """Collects the topics that ``registered`` does not know unchanged, and counts the others."""

    cdef object queue_data
    cdef RegisteredTopics registered
    cdef dict queues
    cdef dict renamed
    cdef Py_ssize_t changed
    cdef Py_ssize_t unchanged
    cdef int32_t last_numbers[4]
    cdef object last_kind

    def __cinit__(self, queue_data, RegisteredTopics registered):
        self.queue_data, self.registered, self.queues, self.renamed = queue_data, registered, {}, {}

    cdef object kind(self, const int32_t *numbers):
        """The queues of a topic, which are mostly those of the topic before it."""
        if self.last_kind is None or memcmp(self.last_numbers, numbers, 4 * sizeof(int32_t)) != 0:
            self.last_kind = self.queue_data(numbers[0], numbers[1], numbers[2], numbers[3])
            memcpy(self.last_numbers, numbers, 4 * sizeof(int32_t))
        return self.last_kind

    cdef bint add(self, const Topic *topic, const char *errors) except -1:
        """False where ``registered`` cannot be asked: for a topic that comes twice, or a name that is not UTF-8.

        ``errors`` as of a codec: NULL raises UnicodeDecodeError.
        """
        cdef void *known_key = NULL
        cdef TopicState topic_state = NEW if self.registered is None else self.registered.look_up(topic, &known_key)
        if topic_state == UNCHANGED:
            self.unchanged += 1
            return True
        if topic_state == REPEATED:
            return False
        key = <object>known_key if topic_state == CHANGED else text_of(&topic.key, errors)
        if errors != NULL and self.registered is not None and topic_state == NEW and REPLACEMENT in key:
            return False
        self.queues[key] = self.kind(topic.numbers)
        self.changed += 1
        if not same_text(&topic.key, &topic.name):
            self.renamed[key] = text_of(&topic.name, errors)
        return True


cdef inline object text_of(const Text *text, const char *errors):
    return PyUnicode_DecodeUTF8(<const char *>text.start, <Py_ssize_t>text.length, errors)


cdef class _Body(_Topics):
    """Reads one body in JSON. The methods return True = taken, False = declined."""

    cdef list filters
    cdef bytes mappings
    cdef Version version

    cdef object result(self):
        version = (self.version.state_version, self.version.timestamp, self.version.counter)
        # A key that came twice: its last topic counts, but renamed may hold the first one's name.
        if len(self.queues) != self.changed:
            return None
        return version, self.queues, self.renamed, self.filters or [], self.unchanged, self.mappings

    cdef bint read_filters(self, Cursor *cursor) except -1:
        cdef Text text
        cdef Reading reading = NOT_BEGUN
        self.filters = []
        while next_item(cursor, &reading, c'[', c']'):
            if not scan_text(cursor, &text):
                return False
            self.filters.append(text_of(&text, NULL))
            if len(self.filters) > FILTER_SERVERS_MAX:
                return False
        return reading == COMPLETE

    cdef bint keep_mappings(self, Cursor *cursor) except -1:
        """Keeps the bytes of the map of static topics; an empty map is None."""
        cdef const uint8_t *start = cursor.at
        if match_bytes(cursor, "{}", 2):
            return True
        if not skip_object(cursor, 0, True):
            return False
        self.mappings = PyBytes_FromStringAndSize(<const char *>start, cursor.at - start)
        return True

    cdef bint read_table(self, Cursor *cursor) except -1:
        cdef Topic topic
        cdef Reading reading = NOT_BEGUN
        while next_member(cursor, &reading, &topic.key):
            if not scan_topic(cursor, &topic) or not self.add(&topic, NULL):
                return False
            if self.changed + self.unchanged > BLOCKS_MAX:
                return False
        return reading == COMPLETE

    cdef bint read_object(self, Cursor *cursor, bint is_wrapper) except -1:
        """RegisterBrokerBody, with a wrapper; or TopicConfigAndMappingSerializeWrapper, with a version."""
        cdef Text key
        cdef int seen = 0, bit
        cdef bint taken
        cdef Reading reading = NOT_BEGUN
        while next_member(cursor, &reading, &key):
            if not is_wrapper and is_text(&key, "topicConfigSerializeWrapper", 27):
                bit, taken = 1, self.read_object(cursor, True)
            elif not is_wrapper and is_text(&key, "filterServerList", 16):
                bit, taken = 2, self.read_filters(cursor)
            elif is_wrapper and is_text(&key, "dataVersion", 11):
                bit, taken = 1, scan_version(cursor, &self.version)
            elif is_wrapper and is_text(&key, "topicConfigTable", 16):
                bit, taken = 2, self.read_table(cursor)
            elif is_wrapper and is_text(&key, "topicQueueMappingInfoMap", 24):
                bit, taken = 4, self.keep_mappings(cursor)
            else:
                bit, taken = 0, is_ascii(&key) and skip_value(cursor, 0, False)
            if not taken or seen & bit:
                return False
            seen |= bit
        return reading == COMPLETE and seen & 1


def parse_json(const unsigned char[::1] body, queue_data, RegisteredTopics registered=None):
    cdef Cursor cursor = cursor_of(body)
    cdef _Body read = _Body(queue_data, registered)
    try:
        return read.result() if read.read_object(&cursor, False) and left(&cursor) == 0 else None
    except UnicodeDecodeError:
        return None


class UnfinishedBlocks(ValueError):
    """The blocks go on behind the bytes."""


# The blocks of an inflated body. Each of the topics and of the mappings is behind its length.
cdef struct Blocks:
    Cursor version
    Cursor topics
    Cursor filters
    Cursor mappings


cdef int64_t read_number(Cursor *cursor) except? -1:
    if left(cursor) < LENGTH_BYTES:
        raise UnfinishedBlocks("End of compressed data has reached")
    cursor.at += LENGTH_BYTES
    return <int32_t>read_uint32(cursor.at - LENGTH_BYTES)


cdef int read_block(Cursor *cursor, int64_t bytes_min, Cursor *block) except -1:
    cdef int64_t length = read_number(cursor)
    if length < bytes_min:
        raise ValueError(f"a block of {length} bytes where {bytes_min} are the fewest")
    if length > BLOCK_BYTES_MAX:
        raise ValueError(f"a block of more than {BLOCK_BYTES_MAX} bytes")
    if <size_t>length > left(cursor):
        raise UnfinishedBlocks("End of compressed data has reached")
    block.at = cursor.at
    cursor.at += length
    block.end = cursor.at
    return 0


cdef int read_list(Cursor *cursor, int64_t most, int64_t bytes_min, Cursor *blocks) except -1:
    """Blocks behind their number."""
    cdef Cursor block
    cdef int64_t count = read_number(cursor)
    if count > most:
        raise ValueError(f"more than {most} blocks")
    blocks.at = cursor.at
    while count > 0:  # Java's loops take a negative count too
        read_block(cursor, bytes_min, &block)
        count -= 1
    blocks.end = cursor.at
    return 0


cdef int split_body(const unsigned char[::1] data, bint mappings, Blocks *blocks) except -1:
    """What follows the last block is not looked at. ValueError where a length or a count is beyond its limits."""
    cdef Cursor cursor = cursor_of(data)
    read_block(&cursor, 0, &blocks.version)
    read_list(&cursor, BLOCKS_MAX, TOPIC_LINE_BYTES_MIN, &blocks.topics)
    read_block(&cursor, 0, &blocks.filters)
    blocks.mappings.at = blocks.mappings.end = cursor.at
    if mappings:
        read_list(&cursor, MAPPINGS_MAX, MAPPING_BYTES_MIN, &blocks.mappings)
    return 0


cdef inline Cursor next_block(Cursor *blocks) noexcept nogil:
    """The first of those that are left."""
    cdef Cursor block
    block.at = blocks.at + LENGTH_BYTES
    block.end = blocks.at = block.at + read_uint32(blocks.at)
    return block


def needs_more(const unsigned char[::1] data, bint mappings):
    cdef Blocks blocks
    try:
        split_body(data, mappings, &blocks)
    except ValueError as error:
        return isinstance(error, UnfinishedBlocks)
    return False


cdef int read_line(Cursor *line, Topic *topic) except -1:
    """A topic's name, read and write queues, permission, filter type; attributes are not needed. ValueError."""
    cdef const uint8_t *space = <const uint8_t *>memchr(line.at, c' ', left(line)) if left(line) else NULL
    topic.key.start, topic.key.length = line.at, left(line) if space == NULL else <size_t>(space - line.at)
    topic.name = topic.key
    line.at += topic.key.length
    topic.numbers[SYS_FLAG] = 0
    for index in range(SYS_FLAG):
        if not take(line, c' ') or not scan_int(line, &topic.numbers[index]):
            raise ValueError("a topic line has no number where one belongs")
    if not match_bytes(line, " SINGLE_TAG", 11) and not match_bytes(line, " MULTI_TAG", 10):
        raise ValueError("a topic line has no filter type")
    if left(line) and line.at[0] != c' ':
        raise ValueError("a topic line has no filter type")
    return 0


cdef bytes bytes_of(const Cursor *block):
    return block.at[:left(block)] if left(block) else b""


def read_blocks(const unsigned char[::1] data, bint mappings, queue_data, RegisteredTopics registered=None):
    cdef Blocks blocks
    cdef Cursor block
    cdef _Topics topics = _Topics(queue_data, registered)
    cdef Topic topic
    cdef list infos = []
    split_body(data, mappings, &blocks)
    while left(&blocks.topics):
        block = next_block(&blocks.topics)
        read_line(&block, &topic)
        if not topics.add(&topic, "replace"):
            return None
    while left(&blocks.mappings):
        block = next_block(&blocks.mappings)
        infos.append(bytes_of(&block))
    return bytes_of(&blocks.version), topics.queues, topics.unchanged, bytes_of(&blocks.filters), infos

"""The plain body of REGISTER_BROKER: what a broker says of its topics (Java: RegisterBrokerBody).

The compiled twin of ``rocketns.protocol.body.register_broker_body.decode_register_broker_body``, called for JSON
of another form; tests/fast/test_register_body.py compares the two. This parser takes what brokers write. It declines
everything else, valid or not, and the twin then decides. The map of static topics is returned as bytes: the twin reads
those. The functions that scan text do not need the GIL; only `_Body` makes Python objects.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from rocketns._fast.codec.compact_json cimport (
    MEMBER, NO_MORE, Cursor, Member, Text, is_ascii, is_text, left, next_item, next_member, same_text, scan_text,
    skip_brackets, skip_value, take, take_bytes
)
from rocketns._fast.codec.topic_config cimport Topic, Version, scan_topic, scan_version

cdef enum:
    BLOCKS_MAX = 100_000
    FILTER_SERVERS_MAX = 10_000
    KINDS = 32


cdef class KnownTopics:
    cdef Standing look_up(self, const Topic *topic, void **key) noexcept:
        return NEW


cdef inline object text_of(const Text *text):
    """The text as a str. Raises UnicodeDecodeError where it is not UTF-8."""
    return PyUnicode_DecodeUTF8(<const char *>text.start, <Py_ssize_t>text.length, NULL)


cdef class _Body:
    """Reads one body and makes the Python objects. The methods return True = taken, False = declined."""

    cdef object queue_data
    cdef dict queues
    cdef dict renamed
    cdef list filters
    cdef bytes mappings
    cdef Version version
    cdef KnownTopics known
    cdef Py_ssize_t topics
    cdef Py_ssize_t unchanged
    cdef int32_t kind_numbers[KINDS][4]
    cdef list kinds

    def __cinit__(self, queue_data, KnownTopics known):
        self.queue_data = queue_data
        self.queues, self.renamed, self.filters = {}, {}, []
        self.topics = self.unchanged = 0
        self.kinds = [None] * KINDS
        self.known = known

    cdef object result(self):
        version = (self.version.state_version, self.version.timestamp, self.version.counter)
        # A key that came twice: its last topic counts, but renamed may hold the first one's name.
        if len(self.queues) != self.topics:
            return None
        return version, self.queues, self.renamed, self.filters, self.unchanged, self.mappings

    cdef object kind(self, const int32_t *numbers):
        """The queues of a topic; a broker's topics have few different ones."""
        cdef uint32_t mixed = <uint32_t>numbers[0] * 7 + <uint32_t>numbers[1] * 5 + <uint32_t>numbers[2]
        cdef int place = <int>((mixed + <uint32_t>numbers[3] * 3) % KINDS)
        if self.kinds[place] is None or memcmp(self.kind_numbers[place], numbers, 4 * sizeof(int32_t)) != 0:
            self.kinds[place] = self.queue_data(numbers[0], numbers[1], numbers[2], numbers[3])
            memcpy(self.kind_numbers[place], numbers, 4 * sizeof(int32_t))
        return self.kinds[place]

    cdef bint add_topic(self, const Topic *topic) except -1:
        cdef void *known_key = NULL
        cdef object key
        cdef Standing standing = NEW
        if self.known is not None:
            standing = self.known.look_up(topic, &known_key)
        if standing == UNCHANGED:
            self.unchanged += 1
            return True
        if standing == REPEATED:
            return False  # which of the two topics counts cannot be decided here
        key = text_of(&topic.key) if standing == NEW else <object>known_key
        self.queues[key] = self.kind(topic.numbers)
        self.topics += 1
        if not same_text(&topic.key, &topic.name):
            self.renamed[key] = text_of(&topic.name)
        return True

    cdef bint read_filters(self, Cursor *cursor) except -1:
        cdef Text text
        cdef bint first = True
        cdef Member more
        if not take(cursor, c'['):
            return False
        while True:
            more = next_item(cursor, &first)
            if more != MEMBER:
                return more == NO_MORE
            if not scan_text(cursor, &text):
                return False
            self.filters.append(text_of(&text))
            if len(self.filters) > FILTER_SERVERS_MAX:
                return False

    cdef bint keep_mappings(self, Cursor *cursor) except -1:
        """Keeps the bytes of the map of static topics; an empty map is None."""
        cdef const uint8_t *start = cursor.at
        if take_bytes(cursor, "{}", 2):
            return True
        if not skip_brackets(cursor):
            return False
        self.mappings = PyBytes_FromStringAndSize(<const char *>start, cursor.at - start)
        return True

    cdef bint read_table(self, Cursor *cursor) except -1:
        cdef Topic topic
        cdef bint first = True
        cdef Member more
        if not take(cursor, c'{'):
            return False
        while True:
            more = next_member(cursor, &first, &topic.key)
            if more != MEMBER:
                return more == NO_MORE
            if not scan_topic(cursor, &topic) or not self.add_topic(&topic):
                return False
            if self.topics + self.unchanged > BLOCKS_MAX:
                return False

    cdef bint read_wrapper(self, Cursor *cursor) except -1:
        """TopicConfigAndMappingSerializeWrapper, with a version."""
        cdef Text key
        cdef int seen = 0, bit
        cdef bint first = True, taken
        cdef Member more
        if not take(cursor, c'{'):
            return False
        while True:
            more = next_member(cursor, &first, &key)
            if more != MEMBER:
                return more == NO_MORE and seen & 1
            bit = 0
            if is_text(&key, "dataVersion", 11):
                bit, taken = 1, scan_version(cursor, &self.version)
            elif is_text(&key, "topicConfigTable", 16):
                bit = 2
                taken = not seen & bit and self.read_table(cursor)
            elif is_text(&key, "topicQueueMappingInfoMap", 24):
                bit = 4
                taken = not seen & bit and self.keep_mappings(cursor)
            else:
                taken = is_ascii(&key) and skip_value(cursor, 0)
            if not taken or seen & bit:
                return False
            seen |= bit

    cdef bint read_json(self, Cursor *cursor) except -1:
        """RegisterBrokerBody, with a wrapper."""
        cdef Text key
        cdef int seen = 0, bit
        cdef bint first = True, taken
        cdef Member more
        if not take(cursor, c'{'):
            return False
        while True:
            more = next_member(cursor, &first, &key)
            if more != MEMBER:
                return more == NO_MORE and seen & 1 and left(cursor) == 0
            bit = 0
            if is_text(&key, "topicConfigSerializeWrapper", 27):
                bit = 1
                taken = not seen & bit and self.read_wrapper(cursor)
            elif is_text(&key, "filterServerList", 16):
                bit = 2
                taken = not seen & bit and self.read_filters(cursor)
            else:
                taken = is_ascii(&key) and skip_value(cursor, 0)
            if not taken:
                return False
            seen |= bit

def parse_json(const unsigned char[::1] body, queue_data, KnownTopics known=None):
    cdef Cursor cursor
    cdef _Body read = _Body(queue_data, known)
    if body.shape[0] == 0:  # an empty view has no first element to take the address of
        return None
    cursor.at = &body[0]
    cursor.end = cursor.at + body.shape[0]
    try:
        return read.result() if read.read_json(&cursor) else None
    except UnicodeDecodeError:
        return None

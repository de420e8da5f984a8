"""The body of REGISTER_BROKER: what a broker says of its topics (Java: RegisterBrokerBody, plain and compressed).

Of 10,000 topics hardly one is new: given the slots, those that stand there just so for the broker are only counted.

The compiled twin of ``rocketns.protocol.body.registration.decoding.decode_register_broker_body_reference``;
tests/fast/test_register_body.py holds the two together. It takes what brokers without static topics write, and
declines everything else, valid or not, for the twin to decide. Text is scanned by the functions without the GIL;
Python objects are made by `_Body` alone.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from rocketns._fast.codec.compact_json cimport (
    DECLINED,
    MEMBER,
    NO_MORE,
    Cursor,
    Member,
    Text,
    is_ascii,
    is_text,
    left,
    next_item,
    next_member,
    same_text,
    scan_int,
    scan_long,
    scan_text,
    skip_object,
    skip_value,
    take,
    take_bytes,
)
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport Routes, Slot, find_entry, find_next_slot

cdef enum:
    LENGTH_BYTES = 4
    BLOCKS_MAX = 100_000
    FILTER_SERVERS_MAX = 10_000
    DEFAULT_QUEUE_NUMS = 16
    DEFAULT_PERM = 6
    KINDS = 32

# Members of a TopicConfig; the first four are places in Topic.numbers.
cdef enum:
    READ = 0
    WRITE = 1
    PERM = 2
    SYS_FLAG = 3
    NAME = 4
    ATTRIBUTES = 5
    OTHER = 6


cdef bint scan_version(Cursor *cursor, Version *version) noexcept nogil:
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


cdef bint scan_topic(Cursor *cursor, Topic *topic) noexcept nogil:
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


cdef bint scan_line(Cursor *line, Topic *topic) noexcept nogil:
    """A whole topic line: name, read and write queues, permission, filter type; what follows does not matter."""
    cdef const uint8_t *space = <const uint8_t *>memchr(line.at, c' ', left(line))
    if space == NULL:
        return False
    topic.key.start = line.at
    topic.key.length = <size_t>(space - line.at)
    topic.name = topic.key
    topic.numbers[SYS_FLAG] = 0
    line.at = space
    for place in range(3):
        if not take(line, c' ') or not scan_int(line, &topic.numbers[place]):
            return False
    if not take_bytes(line, " SINGLE_TAG", 11) and not take_bytes(line, " MULTI_TAG", 10):
        return False
    return left(line) == 0 or line.at[0] == c' '


cdef inline bint take_count(Cursor *cursor, uint32_t *count) noexcept nogil:
    """A big-endian word."""
    if left(cursor) < LENGTH_BYTES:
        return False
    count[0] = (
        (<uint32_t>cursor.at[0] << 24) | (<uint32_t>cursor.at[1] << 16)
        | (<uint32_t>cursor.at[2] << 8) | <uint32_t>cursor.at[3]
    )
    cursor.at += LENGTH_BYTES
    return True


cdef inline bint take_block(Cursor *cursor, Cursor *block) noexcept nogil:
    """A length and as many bytes, which become a cursor of their own. A negative length reads as 2**31 or more."""
    cdef uint32_t length
    if not take_count(cursor, &length) or length > left(cursor):
        return False
    block.at = cursor.at
    cursor.at += length
    block.end = cursor.at
    return True


cdef inline object text_of(const Text *text):
    """UnicodeDecodeError where it is no UTF-8."""
    return PyUnicode_DecodeUTF8(<const char *>text.start, <Py_ssize_t>text.length, NULL)


cdef class _Body:
    """Reads a body and makes the Python objects. The methods' answers are True = taken, False = declined."""

    cdef object queue_data
    cdef dict queues
    cdef dict renamed
    cdef list filters
    cdef Version version
    cdef Py_ssize_t topics
    cdef Py_ssize_t known
    cdef int32_t kind_numbers[KINDS][4]
    cdef list kinds
    cdef RouteSlots slots
    cdef uint32_t cell
    cdef uint32_t place
    cdef uint64_t registration

    def __cinit__(self, queue_data, RouteSlots slots, broker_name):
        self.queue_data = queue_data
        self.queues, self.renamed, self.filters = {}, {}, []
        self.topics = self.known = self.place = 0
        self.kinds = [None] * KINDS
        self.slots = slots
        if slots is not None:
            slots.registrations += 1
            self.registration = slots.registrations
            self.cell = slots.cell_ids.get(broker_name, 0)

    cdef object result(self):
        version = (self.version.state_version, self.version.timestamp, self.version.counter)
        # A key that came twice: its last topic counts, but renamed may hold the first one's name.
        if len(self.queues) != self.topics:
            return None
        return version, self.queues, self.renamed, self.filters, self.known

    cdef object kind(self, const int32_t *numbers):
        """The queues of a topic; a broker's topics have few different ones."""
        cdef uint32_t mixed = <uint32_t>numbers[0] * 7 + <uint32_t>numbers[1] * 5 + <uint32_t>numbers[2]
        cdef int place = <int>((mixed + <uint32_t>numbers[3] * 3) % KINDS)
        if self.kinds[place] is None or memcmp(self.kind_numbers[place], numbers, 4 * sizeof(int32_t)) != 0:
            self.kinds[place] = self.queue_data(numbers[0], numbers[1], numbers[2], numbers[3])
            memcpy(self.kind_numbers[place], numbers, 4 * sizeof(int32_t))
        return self.kinds[place]

    cdef bint add_topic(self, const Topic *topic) except -1:
        cdef Slot *slot = NULL
        cdef object key
        if self.slots is not None:
            slot = find_next_slot(&self.slots.routes, &self.slots.said, topic.key.start, topic.key.length)
        if slot == NULL or not slot.is_text:
            key = text_of(&topic.key)
        else:
            if slot.seen == self.registration:
                return False  # for the twin: which of the two counts is not seen from here
            slot.seen = self.registration
            if self.is_known(topic, slot):
                self.known += 1
                return True
            key = <object>slot.topic
        self.queues[key] = self.kind(topic.numbers)
        self.topics += 1
        if not same_text(&topic.key, &topic.name):
            self.renamed[key] = text_of(&topic.name)
        return True

    cdef bint is_known(self, const Topic *topic, const Slot *slot) noexcept:
        """Whether the broker has the topic with these queues."""
        cdef const Routes *routes = &self.slots.routes
        cdef uint32_t fragment
        if self.cell == 0 or not same_text(&topic.key, &topic.name):
            return False
        if not find_entry(routes, slot, self.cell, &self.place):
            return False
        fragment = slot.entries[self.place].fragment
        return memcmp(routes.fragments[fragment].numbers, topic.numbers, 4 * sizeof(int32_t)) == 0

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
            if self.topics + self.known > BLOCKS_MAX:
                return False

    cdef bint read_wrapper(self, Cursor *cursor) except -1:
        """TopicConfigAndMappingSerializeWrapper, with a version and without static topics."""
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
                bit, taken = 4, take_bytes(cursor, "{}", 2)
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

    cdef bint read_lines(self, Cursor *cursor) except -1:
        cdef Topic topic
        cdef Cursor line
        cdef uint32_t count
        if not take_count(cursor, &count) or count > BLOCKS_MAX:
            return False
        for _ in range(count):
            if not take_block(cursor, &line) or not scan_line(&line, &topic) or not self.add_topic(&topic):
                return False
        return True

    cdef bint read_blocks(self, Cursor *cursor, bint mappings) except -1:
        """Version, topics, filter servers and, where they must be there, no mappings."""
        cdef Cursor block
        cdef uint32_t count = 0
        if not take_block(cursor, &block) or not scan_version(&block, &self.version) or left(&block) != 0:
            return False
        if not self.read_lines(cursor):
            return False
        if not take_block(cursor, &block) or not self.read_filters(&block) or left(&block) != 0:
            return False
        if mappings and (not take_count(cursor, &count) or count != 0):
            return False
        return left(cursor) == 0


def parse_json(const unsigned char[::1] body, queue_data, RouteSlots slots=None, broker_name=None):
    cdef Cursor cursor
    cdef _Body read = _Body(queue_data, slots, broker_name)
    if body.shape[0] == 0:  # an empty view has no first element to take the address of
        return None
    cursor.at = &body[0]
    cursor.end = cursor.at + body.shape[0]
    try:
        return read.result() if read.read_json(&cursor) else None
    except UnicodeDecodeError:
        return None


def parse_compressed(const unsigned char[::1] inflated, bint mappings, queue_data, RouteSlots slots=None,
                     broker_name=None):
    cdef Cursor cursor
    cdef _Body read = _Body(queue_data, slots, broker_name)
    if inflated.shape[0] == 0:
        return None
    cursor.at = &inflated[0]
    cursor.end = cursor.at + inflated.shape[0]
    try:
        return read.result() if read.read_blocks(&cursor, mappings) else None
    except UnicodeDecodeError:
        return None

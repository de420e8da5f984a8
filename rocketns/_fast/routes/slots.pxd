"""What reactors read of the routes: a slot for each topic, composed of fragments that topics share.

Control is the only writer. It writes what reactors read while it holds the `routes_mutex` of every reactor, and a
reactor holds its own while it reads. A reactor takes only one of these mutexes and nothing else meanwhile, so no
deadlock is possible. Fields that only control reads need no mutex.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport NetworkTable
from rocketns._fast.codec.requests cimport RouteRequest
from rocketns._fast.system.hashing cimport HashKey

# The two JSON dialects of a route: DEFAULT has unquoted numeric keys.
cdef enum:
    DEFAULT = 0
    STANDARD = 1
    DIALECTS = 2

cdef enum:
    VIEWS_MAX = 16
    LISTENERS_MAX = VIEWS_MAX + 1  # listenPort, and an address for each view

cdef enum:
    NO_ROOM = -2
    HANDED_OVER = -1
    ABSENT = 0

# Bytes on the heap, owned by the struct that they are in.
cdef struct Bytes:
    uint8_t *start
    uint32_t length

# What the routes have of a broker name.
cdef struct BrokerEntry:
    # Reactors read.
    bint present  # it has a group
    # The group as elements of brokerDatas, by view and dialect. NULL: control answers for all topics of this broker. A
    # NULL start: as in view 0, which has the announced addresses.
    Bytes *elements
    # Control only.
    uint32_t rank  # its place in the order of names
    uint32_t fragments  # that are of this broker

# One broker's queues of a topic, as an element of queueDatas. All topics with equal numbers share it.
cdef struct Fragment:
    # Reactors read.
    Bytes element
    BrokerEntry *broker
    # Control only.
    uint32_t references
    int32_t numbers[4]
    uint64_t digest  # of the element, the same in every process
    void *key  # in `RouteSlots.fragments`, which has a reference to it

cdef enum:
    FEW = 4

# A topic.
cdef struct Slot:
    # Reactors read.
    uint32_t hash  # its lower half
    uint32_t key_length
    # One of each broker, in the order of ranks; at `few` while they fit: memory is waited for once.
    Fragment **fragments
    uint32_t count
    uint8_t handed_over  # control answers for this topic
    # Control only.
    uint8_t is_text  # the key is UTF-8; a str may hold halves of surrogate pairs
    # Reactors read.
    Fragment *few[FEW]
    # Control only.
    Slot *next  # all slots are a ring, in the order in which they came
    Slot *previous
    uint32_t capacity
    uint32_t seen  # number of the last registration with this topic; finds a key that comes twice
    uint64_t digest  # the sum of its elements' digests, see slots.pyx
    void *topic  # the str, and a reference to it
    # Reactors read. Fixed, `key_length` bytes.
    uint8_t key[1]

# All fields: reactors read. `key` is fixed, and so are a slot's hash and key while it is in the table.
cdef struct Routes:
    HashKey key
    Slot **table
    size_t mask
    size_t used
    # Views: which addresses clients get, by number from 1. All of it changes at once.
    uint32_t views  # 0: everybody gets announced addresses
    uint32_t view_generation  # of the file
    const NetworkTable *view_networks  # the longest prefix first; the flags are a view's number
    uint8_t view_of_listener[LISTENERS_MAX]

# A topic's fragment that is to be set or removed. `index` is where `find_entry` found it or where it belongs.
cdef struct Change:
    Slot *slot
    Fragment *fragment
    uint32_t index
    uint64_t digest  # of the fragment to set
    size_t grown  # bytes that the slot grew by
    bint emptied  # it was the slot's last

cdef int set_bytes(Bytes *text, bytes data) except -1
cdef Slot *find_slot(const Routes *routes, const uint8_t *key, size_t length) noexcept nogil
cdef Slot *find_next_slot(const Routes *routes, Slot **last_hit, const uint8_t *key, size_t length) noexcept nogil
cdef bint find_entry(const Slot *slot, const BrokerEntry *broker, uint32_t *index) noexcept nogil
cdef int64_t write_body(const Slot *slot, int dialect, int view, uint8_t *out, const uint8_t *end) noexcept nogil
cdef bytes key_of(str topic)
cdef Slot *make_slot(str topic, const HashKey *hash_key) except NULL
cdef size_t slot_bytes(const Slot *slot) noexcept nogil
cdef void free_slot(Slot *slot) noexcept
cdef void link_slot(Slot *slot, Slot *previous) noexcept nogil
cdef Slot *unlink_slot(Slot *slot) noexcept nogil
cdef void insert_slot(Routes *routes, Slot *slot) noexcept nogil
cdef void remove_slot(Routes *routes, const Slot *slot) noexcept nogil
cdef bint set_fragment(Change *change) noexcept nogil
cdef Fragment *remove_fragment(Slot *slot, const BrokerEntry *broker, uint32_t *index) noexcept nogil

cdef enum:
    BUCKETS = 256

# For each bucket the sum of what its topics contribute.
cdef struct Buckets:
    uint64_t sums[BUCKETS]

cdef void change_digest(Buckets *buckets, Slot *slot, uint64_t added) noexcept nogil
cdef uint64_t name_hash(const Slot *slot) noexcept nogil
cdef size_t bucket_of(uint64_t name) noexcept nogil

# An answer that was written; or its size is HANDED_OVER or NO_ROOM.
cdef struct Answer:
    int64_t size
    uint64_t topic_hash
    bint is_absent


cdef void write_answer(
    const Routes *routes, const RouteRequest *request, int view, int serialize_type, int version, uint8_t *out,
    size_t room, Answer *answer,
) noexcept nogil

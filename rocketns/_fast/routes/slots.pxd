"""What reactors read of the routes: for every topic a slot, composed of fragments that topics share."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rocketns._fast.system.hashing cimport HashKey

# The two JSON dialects of a route: DEFAULT has unquoted numeric keys.
cdef enum:
    DEFAULT = 0
    STANDARD = 1
    DIALECTS = 2

cpdef enum:
    NO_ROOM = -2
    HANDED_OVER = -1
    ABSENT = 0

# Bytes that several places hold on to.
cdef struct Bytes:
    uint8_t *start
    uint32_t length

# A broker name: its element of brokerDatas where it has a group, and what its elements of queueDatas begin with.
# rank orders brokers by name.
cdef struct BrokerEntry:
    uint32_t rank
    uint32_t fragments
    bint present
    bint handed_over
    Bytes datas[2]
    Bytes name

# One broker's queues of a topic as an element of queueDatas; all topics with equal numbers share it.
cdef struct Fragment:
    uint32_t references
    uint32_t broker
    int32_t numbers[4]
    Bytes element

cdef struct RouteEntry:
    uint32_t broker
    uint32_t fragment

cdef enum:
    FEW = 4

# A topic. Its entries are in the order of their brokers' ranks, in few as long as they fit, so that a look-up waits for
# memory once. Control alone uses what is between few and key: all slots are a ring in the order in which they came;
# is_text is whether the key is UTF-8 (a str may hold halves of surrogate pairs); seen tells repeated keys; topic is a
# reference to its str.
cdef struct Slot:
    uint64_t hash
    RouteEntry *entries
    uint32_t count
    uint32_t key_length
    bint handed_over
    RouteEntry few[FEW]
    Slot *next
    Slot *previous
    bint is_text
    uint32_t capacity
    uint64_t seen
    void *topic
    uint8_t key[1]

cdef struct Routes:
    HashKey key
    Slot **table
    size_t mask
    size_t used
    BrokerEntry *brokers
    Fragment *fragments

# One topic's entry that is to be set, and where `find_entry` says that it is or belongs.
cdef struct Change:
    Slot *slot
    uint32_t broker
    uint32_t fragment
    uint32_t place

cdef void clear_bytes(Bytes *text) noexcept nogil
cdef int set_bytes(Bytes *text, bytes data) except -1
cdef Slot *find_slot(const Routes *routes, const uint8_t *key, size_t length) noexcept nogil
cdef Slot *find_hashed_slot(const Routes *routes, const uint8_t *key, size_t length, uint64_t hash) noexcept nogil
cdef Slot *find_next_slot(const Routes *routes, Slot **last, const uint8_t *key, size_t length) noexcept nogil
cdef bint find_entry(const Routes *routes, const Slot *slot, uint32_t broker, uint32_t *place) noexcept nogil
cdef int64_t body_size(const Routes *routes, const Slot *slot, int dialect) noexcept nogil
cdef int64_t write_body(
    const Routes *routes, const Slot *slot, int dialect, uint8_t *out, const uint8_t *end
) noexcept nogil
cdef bytes key_of(str topic)
cdef Slot *make_slot(str topic, const HashKey *hash_key) except NULL
cdef void free_slot(Slot *slot) noexcept
cdef void link_slot(Slot *slot, Slot *previous) noexcept nogil
cdef Slot *unlink_slot(Slot *slot) noexcept nogil
cdef void insert_slot(Routes *routes, Slot *slot) noexcept nogil
cdef void remove_slot(Routes *routes, const Slot *slot) noexcept nogil
cdef bint set_entry(Change *change) noexcept nogil

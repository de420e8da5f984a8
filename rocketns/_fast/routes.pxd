"""What reactors read of the routes: for every topic a slot, composed of fragments that topics share."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rocketns._fast.hashing cimport HashKey

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)
    int pthread_mutex_lock(pthread_mutex_t *mutex)
    int pthread_mutex_unlock(pthread_mutex_t *mutex)

cdef enum:
    READERS_MAX = 8

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
# rank orders cells by name.
cdef struct Cell:
    uint32_t rank
    uint32_t fragments
    bint present
    bint handed_over
    Bytes datas[2]
    Bytes name

# One broker's queues of a topic as an element of queueDatas; all topics with equal numbers share it.
cdef struct Fragment:
    uint32_t references
    uint32_t cell
    int32_t numbers[4]
    Bytes element

cdef struct Entry:
    uint32_t cell
    uint32_t fragment

# A topic. Its entries are in the order of their cells' ranks; topic is a reference to its str. Control alone uses
# is_text, whether the key is UTF-8 (a str may hold halves of surrogate pairs), and seen, which tells repeated keys.
cdef struct Slot:
    uint64_t hash
    Entry *entries
    uint32_t count
    uint32_t capacity
    uint32_t key_length
    bint handed_over
    bint is_text
    uint64_t seen
    void *topic
    uint8_t key[1]

cdef struct Routes:
    HashKey key
    Slot **table
    size_t mask
    size_t used
    Cell *cells
    Fragment *fragments

# One topic's entry that is to be set.
cdef struct Change:
    Slot *slot
    uint32_t cell
    uint32_t fragment

cdef class RouteSlots:
    cdef Routes routes
    cdef pthread_mutex_t *readers[READERS_MAX]
    cdef int reader_count
    cdef object queue_element
    cdef set handed_over
    cdef dict cell_ids
    cdef list cell_names
    cdef list free_cells
    cdef uint32_t cell_count
    cdef uint32_t cell_capacity
    cdef dict fragment_ids
    cdef dict fragment_keys
    cdef list free_fragments
    cdef uint32_t fragment_count
    cdef uint32_t fragment_capacity
    cdef uint64_t registrations

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1
    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    cdef uint32_t cell_of(self, str broker_name) except? 0
    cdef int grow_cells(self) except -1
    cdef int rank_cells(self, Py_ssize_t start) except -1
    cdef int drop_cell_if_unused(self, uint32_t cell) except -1
    cdef uint32_t fragment_of(self, uint32_t cell, str broker_name, object queues) except? 0
    cdef int grow_fragments(self) except -1
    cdef int release(self, uint32_t fragment) except -1
    cdef Slot *slot_of(self, str topic) except? NULL
    cdef Slot *new_slot(self, str topic) except NULL
    cdef int grow_table(self) except -1
    cdef int drop_slot(self, Slot *slot) except -1

cdef Slot *find_slot(const Routes *routes, const uint8_t *key, size_t length) noexcept nogil
cdef Slot *find_hashed_slot(const Routes *routes, const uint8_t *key, size_t length, uint64_t hash) noexcept nogil
cdef bint find_entry(const Routes *routes, const Slot *slot, uint32_t cell, uint32_t *place) noexcept nogil
cdef int64_t body_size(const Routes *routes, const Slot *slot, int dialect) noexcept nogil
cdef int64_t write_body(
    const Routes *routes, const Slot *slot, int dialect, uint8_t *out, const uint8_t *end
) noexcept nogil

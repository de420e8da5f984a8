"""Slots: how they are found and changed, the answers that are composed of their fragments, and the digests of them.

A body is equal to that of ``rocketns.protocol.body.bodies.topic_route_data``; tests/fast compares the two.

Digests of the routes: two processes with the same queues have the same numbers.

An element of queueDatas has a digest, the first 8 bytes of BLAKE2b of its JSON. A topic's digest is the sum of its
elements' digests, so no order matters; rocketns/fleet/digests.py computes the same from another server's answer. A hash
of its name puts a topic into one of 256 buckets, and a bucket's digest is the sum of the hashes of its topics' names
and digests. All sums are kept with every change, so reading them costs no walk through the tables.

"Any reader" is a reactor's thread with its `routes_mutex`, or control, which is the only writer. "Control, locked" is
control with the mutexes of all reactors.
"""

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from rocketns._fast.codec.replies cimport (
    HEAD_BYTES_MAX, NO_ROUTE, TOPIC_NOT_EXIST, put_body_size, put_error, put_success
)
from rocketns._fast.system.hashing cimport hash_bytes, siphash
from rocketns._fast.system.threads cimport assert_equal

cdef extern from *:
    """
    #define rocketns_prefetch(address) __builtin_prefetch(address)
    """
    void prefetch "rocketns_prefetch"(const void *address) nogil

# What many topics take. Behind a slot's 96 bytes lies its key.
assert_equal(sizeof(BrokerEntry), 24)
assert_equal(sizeof(Fragment), 64)
assert_equal(sizeof(Slot), 104)

cdef bytes BROKERS = b'{"brokerDatas":['
cdef bytes QUEUES = b'],"filterServerTable":{},"queueDatas":['
cdef bytes END = b']}'
cdef const uint8_t *brokers_start = <const uint8_t *>BROKERS
cdef const uint8_t *queues_start = <const uint8_t *>QUEUES
cdef const uint8_t *end_start = <const uint8_t *>END
cdef size_t brokers_length = len(BROKERS)
cdef size_t queues_length = len(QUEUES)
cdef size_t end_length = len(END)


cdef int set_bytes(Bytes *text, bytes data) except -1:
    """Control only, on bytes that no reactor sees. A copy of the data; earlier bytes are not freed."""
    text.length = <uint32_t>len(data)
    text.start = <uint8_t *>malloc(text.length + 1)
    if text.start == NULL:
        raise MemoryError
    memcpy(text.start, <const uint8_t *>data, text.length)
    return 0


cdef Slot *find_slot(const Routes *routes, const uint8_t *key, size_t length) noexcept nogil:
    """Any reader. The slot of a topic in UTF-8, NULL where there is none."""
    return find_hashed_slot(routes, key, length, hash_bytes(key, length, &routes.key))


cdef Slot *find_hashed_slot(const Routes *routes, const uint8_t *key, size_t length, uint64_t hash) noexcept nogil:
    """Any reader. As `find_slot`, with the key's hash."""
    cdef size_t index = hash & routes.mask
    cdef Slot *slot
    while True:
        slot = routes.table[index]
        if slot == NULL:
            return NULL
        if slot.hash == <uint32_t>hash and slot.key_length == length and memcmp(slot.key, key, length) == 0:
            return slot
        index = (index + 1) & routes.mask


cdef Slot *find_next_slot(const Routes *routes, Slot **last_hit, const uint8_t *key, size_t length) noexcept nogil:
    """Control only. As `find_slot`; tries the successor of the last hit first, without a hash.

    Brokers list their topics in the same order, so the successor is mostly right. The memory of the next successor is
    prefetched while the caller works on this topic.
    """
    cdef Slot *slot = last_hit[0].next if last_hit[0] != NULL else NULL
    if slot == NULL or slot.key_length != length or memcmp(slot.key, key, length) != 0:
        slot = find_slot(routes, key, length)
    if slot != NULL:
        last_hit[0] = slot
        prefetch(slot.next)
        prefetch(slot.next.key)
    return slot


cdef inline bint belongs(const Slot *slot, uint32_t rank, uint32_t index) noexcept nogil:
    """Control only. Whether the fragment of a broker with this rank is at a place, or belongs there."""
    if index > slot.count or (index and slot.fragments[index - 1].broker.rank >= rank):
        return False
    return index == slot.count or slot.fragments[index].broker.rank >= rank


cdef bint find_entry(const Slot *slot, const BrokerEntry *broker, uint32_t *index) noexcept nogil:
    """Control only. Whether the topic has the broker. ``index`` becomes the place where its fragment is or belongs.

    ``index`` is tried first. A broker's topics are mostly on the same brokers, so the place in the last topic is a good
    guess.
    """
    cdef uint32_t low = 0, high = slot.count, middle
    cdef uint32_t rank = broker.rank
    if belongs(slot, rank, index[0]):
        low = high = index[0]
    while low < high:
        middle = (low + high) // 2
        if slot.fragments[middle].broker.rank < rank:
            low = middle + 1
        else:
            high = middle
    index[0] = low
    return low < slot.count and slot.fragments[low].broker == broker


cdef inline uint8_t *write_element(uint8_t *out, const uint8_t *end, const Bytes *element) noexcept nogil:
    """Any reader. An element and a comma behind it; NULL where there is no room."""
    if out == NULL or <size_t>(end - out) <= element.length:
        return NULL
    memcpy(out, element.start, element.length)
    out[element.length] = c','
    return out + element.length + 1


cdef int64_t write_body(const Slot *slot, int dialect, int view, uint8_t *out, const uint8_t *end) noexcept nogil:
    """Any reader. Write the body from ``out`` on, before ``end``. Its size, or ABSENT, HANDED_OVER, NO_ROOM."""
    cdef uint8_t *at = out
    cdef uint8_t *brokers
    cdef uint32_t index
    cdef const BrokerEntry *broker
    cdef const Bytes *element
    if slot.count == 0:
        return ABSENT
    if slot.handed_over:
        return HANDED_OVER
    if <size_t>(end - out) < brokers_length + queues_length + end_length:
        return NO_ROOM
    memcpy(at, brokers_start, brokers_length)
    at += brokers_length
    brokers = at
    for index in range(slot.count):
        broker = slot.fragments[index].broker
        if not broker.present:
            continue
        if broker.elements == NULL:
            return HANDED_OVER
        element = &broker.elements[view * DIALECTS + dialect]
        at = write_element(at, end, element if element.start != NULL else &broker.elements[dialect])
    if at == brokers:
        return ABSENT
    if at == NULL or <size_t>(end - at) < queues_length:
        return NO_ROOM
    memcpy(at - 1, queues_start, queues_length)
    at += queues_length - 1
    for index in range(slot.count):
        at = write_element(at, end, &slot.fragments[index].element)
    if at == NULL or <size_t>(end - at) < end_length - 1:
        return NO_ROOM
    memcpy(at - 1, end_start, end_length)
    return at - 1 + end_length - out


cdef bytes key_of(str topic):
    """Control only."""
    return topic.encode("utf-8", "surrogatepass")


cdef Slot *make_slot(str topic, const HashKey *hash_key) except NULL:
    """Control only. A slot without fragments, not yet in the ring and the table."""
    cdef bytes key = key_of(topic)
    cdef size_t length = len(key)
    cdef Slot *slot = <Slot *>calloc(1, sizeof(Slot) + length)
    if slot == NULL:
        raise MemoryError
    slot.hash = <uint32_t>hash_bytes(<const uint8_t *>key, length, hash_key)
    slot.key_length = <uint32_t>length
    memcpy(slot.key, <const uint8_t *>key, length)
    slot.is_text = topic.encode("utf-8", "replace") == key
    slot.fragments, slot.capacity = slot.few, FEW
    slot.topic = <void *>topic
    Py_INCREF(topic)
    return slot


cdef size_t slot_bytes(const Slot *slot) noexcept nogil:
    """Control only. What was allocated for it."""
    return sizeof(Slot) + slot.key_length + (0 if slot.fragments == slot.few else slot.capacity * sizeof(Fragment *))


cdef void free_slot(Slot *slot) noexcept:
    """Control only, on a slot that is in no table."""
    Py_DECREF(<object>slot.topic)
    if slot.fragments != slot.few:
        free(slot.fragments)
    free(slot)


cdef void link_slot(Slot *slot, Slot *previous) noexcept nogil:
    """Control only. Put it into the ring behind another slot; NULL where it is the first."""
    if previous == NULL:
        slot.next = slot.previous = slot
        return
    slot.next, slot.previous = previous.next, previous
    previous.next.previous = slot
    previous.next = slot


cdef Slot *unlink_slot(Slot *slot) noexcept nogil:
    """Control only. Take it out of the ring; the slot that was before it, NULL where it was alone."""
    cdef Slot *previous = slot.previous
    previous.next, slot.next.previous = slot.next, previous
    return NULL if previous == slot else previous


cdef void insert_slot(Routes *routes, Slot *slot) noexcept nogil:
    """Control, locked; or on a table that no reactor sees."""
    cdef size_t index = slot.hash & routes.mask
    while routes.table[index] != NULL:
        index = (index + 1) & routes.mask
    routes.table[index] = slot
    routes.used += 1


cdef void remove_slot(Routes *routes, const Slot *slot) noexcept nogil:
    """Control, locked. Take the slot off the table, and close the gap for the slots that were put behind it."""
    cdef size_t gap = slot.hash & routes.mask, index, home
    while routes.table[gap] != slot:
        gap = (gap + 1) & routes.mask
    index = gap
    while True:
        index = (index + 1) & routes.mask
        if routes.table[index] == NULL:
            break
        home = routes.table[index].hash & routes.mask
        if ((index - home) & routes.mask) >= ((index - gap) & routes.mask):
            routes.table[gap] = routes.table[index]
            gap = index
    routes.table[gap] = NULL
    routes.used -= 1


cdef bint make_room(Slot *slot) noexcept nogil:
    """Control, locked. Room for one more fragment; False where there is no memory."""
    cdef uint32_t capacity
    cdef Fragment **fragments
    if slot.count < slot.capacity:
        return True
    capacity = slot.capacity + slot.capacity // 4 + FEW
    fragments = <Fragment **>realloc(
        NULL if slot.fragments == slot.few else slot.fragments, capacity * sizeof(Fragment *)
    )
    if fragments == NULL:
        return False
    if slot.fragments == slot.few:
        memcpy(fragments, slot.few, sizeof(slot.few))
    slot.fragments = fragments
    slot.capacity = capacity
    return True


cdef bint set_fragment(Change *change) noexcept nogil:
    """Control, locked. Set the topic's fragment of a broker; ``change.fragment`` becomes the former one, or NULL.

    False where there is no memory. ``index`` stays right for another change of the same topic and broker.
    """
    cdef Slot *slot = change.slot
    cdef uint32_t index = change.index
    cdef Fragment *previous = NULL
    cdef size_t bytes_before
    change.grown = 0
    if index < slot.count and slot.fragments[index].broker == change.fragment.broker:
        previous = slot.fragments[index]
    else:
        bytes_before = slot_bytes(slot)
        if not make_room(slot):
            return False
        change.grown = slot_bytes(slot) - bytes_before
        memmove(&slot.fragments[index + 1], &slot.fragments[index], (slot.count - index) * sizeof(Fragment *))
        slot.count += 1
    slot.fragments[index] = change.fragment
    change.fragment = previous
    return True


cdef Fragment *remove_fragment(Slot *slot, const BrokerEntry *broker, uint32_t *index) noexcept nogil:
    """Returns the fragment, which still has the slot's reference; NULL if the slot has none of the broker."""
    cdef Fragment *fragment
    if not find_entry(slot, broker, index):
        return NULL
    fragment = slot.fragments[index[0]]
    memmove(&slot.fragments[index[0]], &slot.fragments[index[0] + 1], (slot.count - index[0] - 1) * sizeof(Fragment *))
    slot.count -= 1
    return fragment


# The hash is not keyed: all processes must agree. Who registers topics may choose which are in one bucket.
cdef enum:
    NAME_KEY = 1
    TOPIC_KEY = 2


cdef uint64_t name_hash(const Slot *slot) noexcept nogil:
    return siphash(slot.key, slot.key_length, NAME_KEY, NAME_KEY)


cdef size_t bucket_of(uint64_t name) noexcept nogil:
    return name >> 56


cdef inline uint64_t contribution(uint64_t name, uint64_t digest) noexcept nogil:
    """What a topic adds to its bucket; a topic without queues adds nothing."""
    cdef uint64_t words[2]
    if digest == 0:
        return 0
    words[0], words[1] = name, digest
    return siphash(<const uint8_t *>words, sizeof(words), TOPIC_KEY, TOPIC_KEY)


cdef void change_digest(Buckets *buckets, Slot *slot, uint64_t added) noexcept nogil:
    """Add to a topic's digest, modulo 2^64."""
    cdef uint64_t name
    if added == 0:
        return
    name = name_hash(slot)
    buckets.sums[bucket_of(name)] -= contribution(name, slot.digest)
    slot.digest += added
    buckets.sums[bucket_of(name)] += contribution(name, slot.digest)


cdef void write_answer(
    const Routes *routes, const RouteRequest *request, int view, int serialize_type, int version, uint8_t *out,
    size_t room, Answer *answer,
) noexcept nogil:
    """Any reader (see slots.pyx). Writes the answer's frame from ``out`` on, for a client in a view; 0 is none."""
    cdef uint64_t hash = hash_bytes(request.topic.start, request.topic.length, &routes.key)
    cdef const Slot *slot = find_hashed_slot(routes, request.topic.start, request.topic.length, hash)
    cdef uint8_t *body
    cdef int64_t size = ABSENT
    answer.topic_hash = hash
    answer.is_absent = False
    answer.size = NO_ROOM
    if room < HEAD_BYTES_MAX + request.topic.length:
        return
    if slot != NULL:
        body = put_success(out, request.opaque, serialize_type, version)
        size = write_body(slot, STANDARD if request.standard else DEFAULT, view, body, out + room)
    if size > 0:
        put_body_size(out, body, <size_t>size)
        answer.size = body - out + size
    elif size == ABSENT:
        answer.is_absent = True
        answer.size = put_error(
            out, TOPIC_NOT_EXIST, request.opaque, serialize_type, version, NO_ROUTE, &request.topic
        ) - out
    else:
        answer.size = size

"""Route answers composed of shared fragments: a broker's new addresses cost one swap, whatever its topics are.

All methods are for control. It holds the mutexes of all reactors while it swaps something. What needs memory or Python
objects is done before and after that, so a lookup never waits for it.
"""

cimport cython
from cpython.tuple cimport PyTuple_GetItem
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

import secrets
from bisect import bisect_left
from hashlib import blake2b

from rocketns._fast.codec.compact_json cimport same_text
from rocketns._fast.codec.registration cimport CHANGED, NEW, REPEATED, UNCHANGED, RegisteredTopics, TopicState, Topic
from rocketns._fast.routes.slots cimport (
    DIALECTS, LISTENERS_MAX, VIEWS_MAX, BrokerEntry, Bytes, Change, Fragment, bucket_of,
    change_digest, find_next_slot, find_entry, free_slot, insert_slot, key_of, link_slot, make_slot, name_hash,
    remove_fragment, remove_slot, set_bytes, set_fragment, slot_bytes, unlink_slot
)
from rocketns._fast.system.stable_abi cimport ascii_of
from rocketns._fast.system.threads cimport assert_owner, pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 1024
    CHANGES_AT_ONCE = 64  # fragments set under one lock


@cython.no_gc_clear  # the brokers are freed in the end
cdef class RouteSlots:
    def __cinit__(self, queue_element):
        self.queue_element = queue_element
        self.routes.key.first = secrets.randbits(64)
        self.routes.key.second = secrets.randbits(64)
        self.reader_count = 0
        self.handed_over = set()
        self.brokers, self.broker_names, self.fragments = {}, [], {}
        self.routes.mask, self.routes.used = TABLE_MIN - 1, 0
        self.routes.table = <Slot **>calloc(TABLE_MIN, sizeof(Slot *))
        if self.routes.table == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef size_t index
        cdef Slot *slot
        for index in range(self.routes.mask + 1 if self.routes.table != NULL else 0):
            slot = self.routes.table[index]
            if slot != NULL:
                free_slot(slot)
        for address in self.brokers.values():
            free_elements(self, (<BrokerEntry *><size_t>address).elements)
            free(<void *><size_t>address)
        for address in self.fragments.values():
            free((<Fragment *><size_t>address).element.start)
            free(<void *><size_t>address)
        free(self.routes.table)

    @property
    def memory_bytes(self):
        return (
            self.charged_bytes + (self.routes.mask + 1) * sizeof(Slot *) + len(self.brokers) * sizeof(BrokerEntry)
        )

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1:
        """Control, before the reader's thread starts."""
        if self.reader_count == READERS_MAX:
            raise ValueError(f"more than {READERS_MAX} readers")
        self.readers[self.reader_count] = mutex
        self.reader_count += 1
        return 0

    def put_broker(self, str broker_name, tuple elements not None):
        cdef Bytes *made = make_elements(self, elements)
        replace_elements(self, broker_of(self, broker_name), made, True)

    def use_views(self, Networks networks not None, list of_listeners not None, uint32_t views):
        cdef BrokerEntry *broker
        if views > VIEWS_MAX or not 0 < len(of_listeners) <= LISTENERS_MAX or max(of_listeners) > views:
            raise ValueError(f"{views} views, {len(of_listeners)} listeners")
        for address in self.brokers.values():
            broker = <BrokerEntry *><size_t>address
            replace_elements(self, broker, NULL, broker.present)
        lock(self)
        self.routes.views, self.routes.view_networks = views, &networks.table
        self.routes.view_generation += 1
        for index in range(LISTENERS_MAX):
            self.routes.view_of_listener[index] = of_listeners[index] if index < len(of_listeners) else 0
        unlock(self)
        self.view_networks = networks  # until here reactors may read the former ones

    def view_bytes(self):
        cdef const Bytes *elements
        cdef list found = [0] * self.routes.views
        for address in self.brokers.values():
            elements = (<BrokerEntry *><size_t>address).elements
            for index in range(DIALECTS * self.routes.views if elements != NULL else 0):
                found[index // DIALECTS] += sizeof(Bytes) + elements[DIALECTS + index].length
        return found

    def remove_broker(self, str broker_name):
        cdef BrokerEntry *broker = find_broker(self, broker_name)
        if broker != NULL:
            replace_elements(self, broker, NULL, False)
            drop_broker_if_unused(self, broker)

    def put_topics(self, str broker_name, changes):
        cdef Change pending[CHANGES_AT_ONCE]
        cdef BrokerEntry *broker = broker_of(self, broker_name)
        cdef Fragment *former
        cdef Py_ssize_t start, count, index, done
        for start in range(0, len(changes), CHANGES_AT_ONCE):
            count = min(len(changes) - start, <Py_ssize_t>CHANGES_AT_ONCE)
            prepare(self, broker_name, broker, changes[start : start + count], pending)
            done = 0
            with nogil:
                lock(self)
                while done < count and set_fragment(&pending[done]):
                    done += 1
                unlock(self)
            for index in range(count):
                former = pending[index].fragment
                if index < done:
                    self.charged_bytes += <int64_t>pending[index].grown
                    change_digest(&self.buckets, pending[index].slot,
                                  pending[index].digest - (0 if former == NULL else former.digest))
                if former != NULL:
                    release(self, former)
            if done < count:
                raise MemoryError

    def delete_topics(self, str broker_name, topics):
        cdef BrokerEntry *broker = find_broker(self, broker_name)
        cdef Py_ssize_t start
        if broker == NULL:
            return
        for start in range(0, len(topics), CHANGES_AT_ONCE):
            delete_some(self, broker, topics[start : start + CHANGES_AT_ONCE])
        drop_broker_if_unused(self, broker)

    def hand_over(self, str topic):
        cdef Slot *slot = slot_of(self, topic)
        self.handed_over.add(topic)
        if slot != NULL:
            lock(self)
            slot.handed_over = True
            unlock(self)


cdef void lock(RouteSlots slots) noexcept nogil:
    """Control only. Every method that writes what reactors read comes through here."""
    assert_owner(&slots.writer, "RouteSlots.lock")
    for index in range(slots.reader_count):
        pthread_mutex_lock(slots.readers[index])


cdef void unlock(RouteSlots slots) noexcept nogil:
    for index in range(slots.reader_count):
        pthread_mutex_unlock(slots.readers[index])


cdef void replace_elements(RouteSlots slots, BrokerEntry *broker, Bytes *elements, bint present) noexcept:
    cdef Bytes *former = broker.elements
    lock(slots)
    broker.elements, broker.present = elements, present
    unlock(slots)
    free_elements(slots, former)


cdef Bytes *make_elements(RouteSlots slots, tuple elements) except? NULL:
    """By view and dialect, which no reactor sees yet; NULL where there are none."""
    cdef size_t index, count = DIALECTS * (1 + slots.routes.views)
    cdef Bytes *made
    if not elements:
        return NULL
    if len(elements) * DIALECTS != count:
        raise ValueError(f"{len(elements)} elements: one for each of {slots.routes.views} views expected, and another")
    made = <Bytes *>calloc(count, sizeof(Bytes))
    if made == NULL:
        raise MemoryError
    slots.charged_bytes += <int64_t>(count * sizeof(Bytes))
    for index in range(count):
        pair = elements[index // DIALECTS]
        if pair is not None:
            set_bytes(&made[index], pair[index % DIALECTS])
            slots.charged_bytes += made[index].length
    return made


cdef void free_elements(RouteSlots slots, Bytes *elements) noexcept:
    """What `make_elements` made, and no reactor sees any more."""
    cdef size_t index, count = DIALECTS * (1 + slots.routes.views)
    if elements == NULL:
        return
    for index in range(count):
        slots.charged_bytes -= elements[index].length
        free(elements[index].start)
    slots.charged_bytes -= <int64_t>(count * sizeof(Bytes))
    free(elements)


cdef BrokerEntry *find_broker(RouteSlots slots, str broker_name) except? NULL:
    cdef object found = slots.brokers.get(broker_name)
    return NULL if found is None else <BrokerEntry *><size_t>found


cdef BrokerEntry *broker_of(RouteSlots slots, str broker_name) except NULL:
    cdef BrokerEntry *broker = find_broker(slots, broker_name)
    if broker == NULL:
        broker = <BrokerEntry *>calloc(1, sizeof(BrokerEntry))
        if broker == NULL:
            raise MemoryError
        slots.brokers[broker_name] = <size_t>broker
        broker.rank = <uint32_t>bisect_left(slots.broker_names, broker_name)
        slots.broker_names.insert(broker.rank, broker_name)
        rank_brokers(slots, broker.rank)
    return broker


cdef int rank_brokers(RouteSlots slots, Py_ssize_t start) except -1:
    """Renumber the brokers from a place in the order of their names. Fragments stay sorted: no two change order."""
    cdef Py_ssize_t index
    for index in range(start, len(slots.broker_names)):
        find_broker(slots, slots.broker_names[index]).rank = <uint32_t>index
    return 0


cdef int drop_broker_if_unused(RouteSlots slots, BrokerEntry *broker) except -1:
    cdef uint32_t rank = broker.rank
    if broker.present or broker.fragments:
        return 0
    del slots.brokers[slots.broker_names.pop(rank)]
    free(broker)
    return rank_brokers(slots, rank)


cdef Fragment *fragment_of(RouteSlots slots, BrokerEntry *broker, str broker_name, object queues) except NULL:
    """A fragment with these queues, and one reference to it for the caller."""
    cdef tuple key = (broker_name, queues)
    cdef object found = slots.fragments.get(key)
    cdef bytes element
    cdef Fragment *new
    if found is not None:
        new = <Fragment *><size_t>found
        new.references += 1
        return new
    element = slots.queue_element(broker_name, queues)
    new = <Fragment *>calloc(1, sizeof(Fragment))
    if new == NULL:
        raise MemoryError
    set_bytes(&new.element, element)
    slots.charged_bytes += <int64_t>(sizeof(Fragment) + new.element.length)
    new.references, new.broker, new.key = 1, broker, <void *>key
    new.digest = int.from_bytes(blake2b(element, digest_size=sizeof(uint64_t)).digest(), "little")
    for index in range(4):
        new.numbers[index] = queues[index]
    broker.fragments += 1
    slots.fragments[key] = <size_t>new
    return new


cdef int release(RouteSlots slots, Fragment *fragment) except -1:
    """Drop one reference. With the last one the fragment is freed, so no slot may have it."""
    fragment.references -= 1
    if fragment.references == 0:
        fragment.broker.fragments -= 1
        del slots.fragments[<object>fragment.key]
        slots.charged_bytes -= <int64_t>(sizeof(Fragment) + fragment.element.length)
        free(fragment.element.start)
        free(fragment)
    return 0


cdef Slot *slot_of(RouteSlots slots, str topic) except? NULL:
    cdef bytes key
    cdef const uint8_t *ascii_key = <const uint8_t *>ascii_of(topic)
    if ascii_key != NULL:  # as nearly every topic is: its own bytes are the key
        return find_next_slot(&slots.routes, &slots.last_hit, ascii_key, len(topic))
    key = key_of(topic)
    return find_next_slot(&slots.routes, &slots.last_hit, <const uint8_t *>key, len(key))


cdef int prepare(RouteSlots slots, str broker_name, BrokerEntry *broker, changes, Change *pending) except -1:
    """Control only. All that needs no lock: find the slots, then the places, then the fragments.

    In three steps, so that the memory of many topics is waited for at once.
    """
    cdef Py_ssize_t index
    cdef uint32_t guess = 0
    cdef Fragment *fragment = NULL
    cdef bint missing = False
    cdef object queues, last = None
    for index, change in enumerate(changes):
        pending[index].slot = slot_of(slots, <object>PyTuple_GetItem(change, 0))
        missing = missing or pending[index].slot == NULL
    if missing:
        make_slots(slots, changes, pending)
    for index, change in enumerate(changes):
        pending[index].index = guess
        find_entry(pending[index].slot, broker, &pending[index].index)
        guess = pending[index].index
    for index, change in enumerate(changes):
        queues = <object>PyTuple_GetItem(change, 2)
        if queues is last:
            fragment.references += 1
        else:
            fragment, last = fragment_of(slots, broker, broker_name, queues), queues
        pending[index].fragment = fragment
        pending[index].digest = fragment.digest
    return 0


cdef int delete_some(RouteSlots slots, BrokerEntry *broker, topics) except -1:
    """At most CHANGES_AT_ONCE topics."""
    cdef Change pending[CHANGES_AT_ONCE]
    cdef Slot *slot
    cdef Slot *previous
    cdef Py_ssize_t index, count = 0
    for topic in topics:
        pending[count].slot = slot_of(slots, topic)
        pending[count].index = 0
        count += pending[count].slot != NULL
    with nogil:
        lock(slots)
        for index in range(count):
            pending[index].fragment = remove_fragment(pending[index].slot, broker, &pending[index].index)
            pending[index].emptied = pending[index].fragment != NULL and pending[index].slot.count == 0
            if pending[index].emptied:
                remove_slot(&slots.routes, pending[index].slot)
        unlock(slots)
    for index in range(count):
        slot = pending[index].slot
        if pending[index].fragment != NULL:
            change_digest(&slots.buckets, slot, 0 - pending[index].fragment.digest)
            release(slots, pending[index].fragment)
        if pending[index].emptied:
            previous = unlink_slot(slot)
            if slots.last_hit == slot:
                slots.last_hit = previous
            slots.charged_bytes -= <int64_t>slot_bytes(slot)
            free_slot(slot)
    return 0


cdef int make_slots(RouteSlots slots, changes, Change *pending) except -1:
    """The slots of those that have none yet. A topic may come twice."""
    cdef Py_ssize_t index, count = 0
    cdef Slot *made[CHANGES_AT_ONCE]
    cdef dict new = {<object>PyTuple_GetItem(change, 0): None for index, change in enumerate(changes)
                     if pending[index].slot == NULL}
    while (slots.routes.used + len(new)) * 2 > slots.routes.mask:
        grow_table(slots)
    for topic in new:
        made[count] = make_slot(topic, &slots.routes.key)
        made[count].handed_over = topic in slots.handed_over
        count += 1
    with nogil:
        lock(slots)
        for index in range(count):
            insert_slot(&slots.routes, made[index])
        unlock(slots)
    for index in range(count):
        slots.charged_bytes += <int64_t>slot_bytes(made[index])
        link_slot(made[index], slots.last_hit)
        slots.last_hit = made[index]
    for index, change in enumerate(changes):
        if pending[index].slot == NULL:
            pending[index].slot = slot_of(slots, <object>PyTuple_GetItem(change, 0))
    return 0


cdef int grow_table(RouteSlots slots) except -1:
    """Twice the places."""
    cdef Routes larger = slots.routes
    cdef Slot **old = slots.routes.table
    cdef size_t index, indexes = larger.mask + 1
    larger.table = <Slot **>calloc(indexes * 2, sizeof(Slot *))
    if larger.table == NULL:
        raise MemoryError
    larger.mask, larger.used = indexes * 2 - 1, 0
    for index in range(indexes):
        if old[index] != NULL:
            insert_slot(&larger, old[index])
    lock(slots)
    slots.routes = larger
    unlock(slots)
    free(old)
    return 0


def bucket_digests(RouteSlots slots not None):
    cdef bytes data = <bytes>(<const uint8_t *>slots.buckets.sums)[:sizeof(slots.buckets.sums)]
    return data


def topics_of_bucket(RouteSlots slots not None, int bucket):
    cdef Slot *slot = slots.last_hit
    cdef size_t number
    found = {}
    for number in range(slots.routes.used):
        if slot.digest and bucket_of(name_hash(slot)) == <size_t>bucket:
            found[<str>slot.topic] = slot.digest
        slot = slot.next
    return found


def topic_digest(RouteSlots slots not None, str topic not None):
    cdef Slot *slot = slot_of(slots, topic)
    return None if slot == NULL or slot.digest == 0 else slot.digest


def topic_count(RouteSlots slots not None):
    return slots.routes.used


cdef class PublishedTopics(RegisteredTopics):
    """``index`` is where the broker's fragment was in the last slot; the next slot mostly has it there too."""

    cdef RouteSlots slots
    cdef const BrokerEntry *broker
    cdef uint32_t index
    cdef uint32_t registration

    def __cinit__(self, RouteSlots slots not None, str broker_name not None):
        slots.registrations += 1
        self.slots, self.registration = slots, slots.registrations
        self.broker, self.index = find_broker(slots, broker_name), 0

    cdef TopicState look_up(self, const Topic *topic, void **key) noexcept:
        cdef Slot *slot = find_next_slot(&self.slots.routes, &self.slots.last_hit, topic.key.start, topic.key.length)
        if slot == NULL or not slot.is_text:
            return NEW
        if slot.seen == self.registration:
            return REPEATED
        slot.seen, key[0] = self.registration, slot.topic
        return UNCHANGED if self.is_unchanged(topic, slot) else CHANGED

    cdef bint is_unchanged(self, const Topic *topic, const Slot *slot) noexcept:
        """Whether the broker has the topic with these queues."""
        if self.broker == NULL or not same_text(&topic.key, &topic.name):
            return False
        if not find_entry(slot, self.broker, &self.index):
            return False
        return memcmp(slot.fragments[self.index].numbers, topic.numbers, 4 * sizeof(int32_t)) == 0

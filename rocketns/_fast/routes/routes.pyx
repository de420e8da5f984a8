"""Route answers composed of shared fragments: a change of a broker costs one fragment, whatever its topics are.

All methods are for control. It holds the mutexes of all reactors while it swaps something. What needs memory or Python
objects is done before and after that, so a lookup never waits for it.
"""

from cpython.tuple cimport PyTuple_GetItem
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

import secrets
from bisect import bisect_left
from hashlib import blake2b

from rocketns._fast.codec.compact_json cimport same_text
from rocketns._fast.codec.registration cimport CHANGED, NEW, REPEATED, UNCHANGED, KnownTopics, Standing, Topic
from rocketns._fast.routes.slots cimport (
    DEFAULT, DIALECTS, LISTENERS_MAX, STANDARD, VIEWS_MAX, BrokerEntry, Bytes, Change, Fragment, bucket_of,
    change_digest, clear_bytes, double_table, find_next_slot, find_place, free_slot, grown, insert_slot, key_of,
    link_slot, make_slot, name_hash, remove_fragment, remove_slot, set_bytes, set_fragment, slot_bytes, unlink_slot
)
from rocketns._fast.system.stable_abi cimport ascii_of
from rocketns._fast.system.threads cimport assert_owner, pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 1024
    BROKERS_MIN = 16
    FRAGMENTS_MIN = 64
    CHANGES_AT_ONCE = 64  # fragments set under one lock


cdef class RouteSlots:
    """Number 0 of a broker or a fragment means none."""

    def __cinit__(self, queue_element):
        self.queue_element = queue_element
        self.routes.key.first = secrets.randbits(64)
        self.routes.key.second = secrets.randbits(64)
        self.reader_count = 0
        self.handed_over = set()
        self.broker_numbers, self.broker_names, self.free_brokers = {}, [], []
        self.fragment_ids, self.fragment_keys, self.free_fragments = {}, {}, []
        self.broker_count = self.fragment_count = 1
        self.broker_capacity, self.fragment_capacity = BROKERS_MIN, FRAGMENTS_MIN
        self.routes.mask, self.routes.used = TABLE_MIN - 1, 0
        self.routes.table = <Slot **>calloc(TABLE_MIN, sizeof(Slot *))
        self.routes.brokers = <BrokerEntry *>calloc(BROKERS_MIN, sizeof(BrokerEntry))
        self.routes.fragments = <Fragment *>calloc(FRAGMENTS_MIN, sizeof(Fragment))
        if self.routes.table == NULL or self.routes.brokers == NULL or self.routes.fragments == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef size_t place
        cdef Slot *slot
        for place in range(self.routes.mask + 1 if self.routes.table != NULL else 0):
            slot = self.routes.table[place]
            if slot != NULL:
                free_slot(slot)
        for place in range(self.broker_count if self.routes.brokers != NULL else 0):
            free(self.routes.brokers[place].datas[DEFAULT].start)
            free(self.routes.brokers[place].datas[STANDARD].start)
        for place in range(self.fragment_count if self.routes.fragments != NULL else 0):
            free(self.routes.fragments[place].element.start)
        free_mapped(self, self.routes.mapped, mapped_count(self, self.routes.views))
        free(self.routes.table)
        free(self.routes.brokers)
        free(self.routes.fragments)

    @property
    def memory_bytes(self):
        return (
            self.held_bytes + (self.routes.mask + 1) * sizeof(Slot *) + self.broker_capacity * sizeof(BrokerEntry)
            + self.fragment_capacity * sizeof(Fragment) + mapped_count(self, self.routes.views) * sizeof(Bytes)
        )

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1:
        """Control, before the reader's thread starts."""
        if self.reader_count == READERS_MAX:
            raise ValueError(f"more than {READERS_MAX} readers")
        self.readers[self.reader_count] = mutex
        self.reader_count += 1
        return 0

    def put_broker(self, str broker_name, bytes default, bytes standard, bint handed_over, tuple mapped=()):
        cdef uint32_t broker = broker_of(self, broker_name)
        cdef BrokerEntry old, new
        cdef Bytes of_views[VIEWS_MAX * DIALECTS]
        make_mapped(self, of_views, self.routes.views, mapped)
        new = self.routes.brokers[broker]
        set_bytes(&new.datas[DEFAULT], default)
        set_bytes(&new.datas[STANDARD], standard)
        new.present, new.handed_over = True, handed_over
        lock(self)
        old = self.routes.brokers[broker]
        self.routes.brokers[broker] = new
        swap_mapped(self, broker, of_views)
        unlock(self)
        self.held_bytes += <int64_t>len(default) + <int64_t>len(standard)
        clear_datas(self, &old)
        clear_mapped(self, of_views, self.routes.views * DIALECTS)

    def change_views(self, Networks networks not None, list of_listeners not None, uint32_t views, dict mapped not None):
        cdef Bytes *made
        cdef Bytes *old = self.routes.mapped
        cdef Networks former = self.view_networks  # reactors may read it until the change
        cdef uint32_t broker
        cdef size_t old_count = mapped_count(self, self.routes.views), made_count = mapped_count(self, views)
        if views > VIEWS_MAX or not 0 < len(of_listeners) <= LISTENERS_MAX or max(of_listeners) > views:
            raise ValueError(f"{views} views, {len(of_listeners)} listeners")
        made = <Bytes *>calloc(max(made_count, <size_t>1), sizeof(Bytes))
        if made == NULL:
            raise MemoryError
        try:
            for name, pairs in mapped.items():
                broker = self.broker_numbers[name]
                make_mapped(self, &made[<size_t>broker * views * DIALECTS], views, pairs)
        except BaseException:
            free_mapped(self, made, made_count)
            raise
        self.view_networks = networks
        lock(self)
        self.routes.mapped, self.routes.views, self.routes.view_networks = made, views, &networks.table
        self.routes.view_generation += 1
        for place in range(LISTENERS_MAX):
            self.routes.view_of_listener[place] = of_listeners[place] if place < len(of_listeners) else 0
        unlock(self)
        free_mapped(self, old, old_count)
        del former

    def mapped_bytes(self):
        """By view."""
        cdef size_t place, view, size
        cdef list found = []
        for view in range(self.routes.views):
            size = self.broker_capacity * DIALECTS * sizeof(Bytes)
            for place in range(mapped_count(self, self.routes.views)):
                if place // DIALECTS % self.routes.views == view:
                    size += self.routes.mapped[place].length
            found.append(size)
        return found

    def remove_broker(self, str broker_name):
        cdef object found = self.broker_numbers.get(broker_name)
        cdef uint32_t broker
        cdef BrokerEntry old
        cdef Bytes of_views[VIEWS_MAX * DIALECTS]
        if found is None:
            return
        broker = found
        make_mapped(self, of_views, self.routes.views, ())
        lock(self)
        swap_mapped(self, broker, of_views)
        old = self.routes.brokers[broker]
        self.routes.brokers[broker].present = self.routes.brokers[broker].handed_over = False
        self.routes.brokers[broker].datas[DEFAULT].start = self.routes.brokers[broker].datas[STANDARD].start = NULL
        unlock(self)
        clear_datas(self, &old)
        clear_mapped(self, of_views, self.routes.views * DIALECTS)
        drop_broker_if_unused(self, broker)

    def put_topics(self, str broker_name, changes):
        cdef Change pending[CHANGES_AT_ONCE]
        cdef uint32_t broker = broker_of(self, broker_name)
        cdef Py_ssize_t start, count, place, done
        for start in range(0, len(changes), CHANGES_AT_ONCE):
            count = min(len(changes) - start, <Py_ssize_t>CHANGES_AT_ONCE)
            prepare(self, broker_name, broker, changes[start : start + count], pending)
            done = 0
            with nogil:
                lock(self)
                while done < count and set_fragment(&self.routes, &pending[done]):
                    done += 1
                unlock(self)
            for place in range(done):
                self.held_bytes += <int64_t>pending[place].grown
                change_digest(&self.buckets, pending[place].slot,
                              pending[place].digest - self.routes.fragments[pending[place].fragment].digest)
            for place in range(count):
                if pending[place].fragment:
                    release(self, pending[place].fragment)
            if done < count:
                raise MemoryError

    def delete_topics(self, str broker_name, topics):
        cdef object found = self.broker_numbers.get(broker_name)
        cdef uint32_t broker
        cdef Py_ssize_t start
        if found is None:
            return
        broker = found
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
    for place in range(slots.reader_count):
        pthread_mutex_lock(slots.readers[place])


cdef void unlock(RouteSlots slots) noexcept nogil:
    for place in range(slots.reader_count):
        pthread_mutex_unlock(slots.readers[place])


cdef void clear_datas(RouteSlots slots, BrokerEntry *old) noexcept:
    """On elements that no reactor sees any more."""
    for dialect in range(DIALECTS):
        if old.datas[dialect].start != NULL:
            slots.held_bytes -= old.datas[dialect].length
        clear_bytes(&old.datas[dialect])


cdef size_t mapped_count(RouteSlots slots, uint32_t views) noexcept:
    """How many elements the table of that many views has."""
    return <size_t>slots.broker_capacity * views * DIALECTS


cdef int make_mapped(RouteSlots slots, Bytes *of_views, uint32_t views, tuple mapped) except -1:
    """A broker's elements by view and dialect, in bytes that no reactor sees. Without any, nothing is mapped."""
    cdef uint32_t view
    memset(of_views, 0, views * DIALECTS * sizeof(Bytes))
    if len(mapped) not in (0, views):
        raise ValueError(f"{len(mapped)} mapped elements: one for each of {views} views expected")
    for view, pair in enumerate(mapped):
        if pair is not None:
            default, standard = pair
            set_bytes(&of_views[view * DIALECTS + DEFAULT], default)
            set_bytes(&of_views[view * DIALECTS + STANDARD], standard)
            slots.held_bytes += <int64_t>len(default) + <int64_t>len(standard)
    return 0


cdef void swap_mapped(RouteSlots slots, uint32_t broker, Bytes *of_views) noexcept nogil:
    """Control, locked. Exchange the broker's elements with others."""
    cdef size_t place, count = slots.routes.views * DIALECTS
    cdef Bytes *mapped = &slots.routes.mapped[broker * count]
    cdef Bytes other
    for place in range(count):
        other = mapped[place]
        mapped[place] = of_views[place]
        of_views[place] = other


cdef void clear_mapped(RouteSlots slots, Bytes *mapped, size_t count) noexcept:
    """On elements that no reactor sees any more."""
    cdef size_t place
    for place in range(count):
        slots.held_bytes -= mapped[place].length
        clear_bytes(&mapped[place])


cdef void free_mapped(RouteSlots slots, Bytes *mapped, size_t count) noexcept:
    """A whole table that no reactor sees any more."""
    clear_mapped(slots, mapped, count)
    free(mapped)


cdef uint32_t broker_of(RouteSlots slots, str broker_name) except? 0:
    cdef object found = slots.broker_numbers.get(broker_name)
    cdef uint32_t broker
    cdef Py_ssize_t start
    if found is not None:
        return found
    if slots.free_brokers:
        broker = slots.free_brokers.pop()
    else:
        if slots.broker_count == slots.broker_capacity:
            grow_brokers(slots)
        broker = slots.broker_count
        slots.broker_count += 1
    start = bisect_left(slots.broker_names, broker_name)
    slots.broker_names.insert(start, broker_name)
    slots.broker_numbers[broker_name] = broker
    rank_brokers(slots, start)
    return broker


cdef int grow_brokers(RouteSlots slots) except -1:
    cdef uint32_t capacity = slots.broker_capacity * 2
    cdef BrokerEntry *old = slots.routes.brokers
    cdef BrokerEntry *brokers = <BrokerEntry *>grown(old, slots.broker_capacity, capacity, sizeof(BrokerEntry))
    cdef Bytes *old_mapped = slots.routes.mapped
    cdef Bytes *mapped = old_mapped
    cdef size_t of_broker = slots.routes.views * DIALECTS * sizeof(Bytes)
    if of_broker:
        mapped = <Bytes *>grown(old_mapped, slots.broker_capacity, capacity, of_broker)
    lock(slots)
    slots.routes.brokers, slots.routes.mapped = brokers, mapped
    unlock(slots)
    slots.broker_capacity = capacity
    free(old)
    if of_broker:
        free(old_mapped)
    return 0


cdef int rank_brokers(RouteSlots slots, Py_ssize_t start) except -1:
    """Renumber the brokers from a place in the order of their names. Fragments stay sorted: no two change order."""
    cdef Py_ssize_t place
    cdef uint32_t broker
    lock(slots)
    for place in range(start, len(slots.broker_names)):
        broker = slots.broker_numbers[slots.broker_names[place]]
        slots.routes.brokers[broker].rank = <uint32_t>place
    unlock(slots)
    return 0


cdef int drop_broker_if_unused(RouteSlots slots, uint32_t broker) except -1:
    cdef Py_ssize_t place
    if slots.routes.brokers[broker].present or slots.routes.brokers[broker].fragments:
        return 0
    for place, name in enumerate(slots.broker_names):
        if slots.broker_numbers[name] == broker:
            del slots.broker_names[place]
            del slots.broker_numbers[name]
            slots.free_brokers.append(broker)
            return rank_brokers(slots, place)
    return 0


cdef uint32_t fragment_of(RouteSlots slots, uint32_t broker, str broker_name, object queues) except? 0:
    """A fragment with these queues, and one reference to it for the caller."""
    cdef tuple key = (broker, queues)
    cdef object found = slots.fragment_ids.get(key)
    cdef uint32_t fragment
    cdef Fragment *new
    if found is not None:
        fragment = found
        slots.routes.fragments[fragment].references += 1
        return fragment
    element = slots.queue_element(broker_name, queues)
    if slots.free_fragments:
        fragment = slots.free_fragments.pop()
    else:
        if slots.fragment_count == slots.fragment_capacity:
            grow_fragments(slots)
        fragment = slots.fragment_count
        slots.fragment_count += 1
    new = &slots.routes.fragments[fragment]
    set_bytes(&new.element, element)
    slots.held_bytes += new.element.length
    new.references, new.broker = 1, broker
    new.digest = int.from_bytes(blake2b(element, digest_size=sizeof(uint64_t)).digest(), "little")
    for place in range(4):
        new.numbers[place] = queues[place]
    slots.routes.brokers[broker].fragments += 1
    slots.fragment_ids[key] = fragment
    slots.fragment_keys[fragment] = key
    return fragment


cdef int grow_fragments(RouteSlots slots) except -1:
    cdef uint32_t capacity = slots.fragment_capacity * 2
    cdef Fragment *old = slots.routes.fragments
    cdef Fragment *fragments = <Fragment *>grown(old, slots.fragment_capacity, capacity, sizeof(Fragment))
    lock(slots)
    slots.routes.fragments = fragments
    unlock(slots)
    slots.fragment_capacity = capacity
    free(old)
    return 0


cdef int release(RouteSlots slots, uint32_t fragment) except -1:
    """Drop one reference. With the last one the fragment is freed, so no slot may name it."""
    cdef Fragment *gone = &slots.routes.fragments[fragment]
    gone.references -= 1
    if gone.references == 0:
        slots.routes.brokers[gone.broker].fragments -= 1
        del slots.fragment_ids[slots.fragment_keys.pop(fragment)]
        slots.held_bytes -= gone.element.length
        clear_bytes(&gone.element)
        slots.free_fragments.append(fragment)
    return 0


cdef Slot *slot_of(RouteSlots slots, str topic) except? NULL:
    cdef bytes key
    cdef const uint8_t *ascii_key = <const uint8_t *>ascii_of(topic)
    if ascii_key != NULL:  # as nearly every topic is: its own bytes are the key
        return find_next_slot(&slots.routes, &slots.last_hit, ascii_key, len(topic))
    key = key_of(topic)
    return find_next_slot(&slots.routes, &slots.last_hit, <const uint8_t *>key, len(key))


cdef int prepare(RouteSlots slots, str broker_name, uint32_t broker, changes, Change *pending) except -1:
    """Control only. All that needs no lock: find the slots, then the places, then the fragments.

    In three steps, so that the memory of many topics is waited for at once.
    """
    cdef Py_ssize_t place
    cdef uint32_t guess = 0, fragment = 0
    cdef bint missing = False
    cdef object queues, last = None
    for place, change in enumerate(changes):
        pending[place].slot = slot_of(slots, <object>PyTuple_GetItem(change, 0))
        missing = missing or pending[place].slot == NULL
    if missing:
        make_slots(slots, changes, pending)
    for place, change in enumerate(changes):
        pending[place].place = guess
        find_place(&slots.routes, pending[place].slot, broker, &pending[place].place)
        guess = pending[place].place
    for place, change in enumerate(changes):
        queues = <object>PyTuple_GetItem(change, 2)
        if queues is last:
            slots.routes.fragments[fragment].references += 1
        else:
            fragment, last = fragment_of(slots, broker, broker_name, queues), queues
        pending[place].fragment = fragment
        pending[place].digest = slots.routes.fragments[fragment].digest
    return 0


cdef int delete_some(RouteSlots slots, uint32_t broker, topics) except -1:
    """At most CHANGES_AT_ONCE topics."""
    cdef Change pending[CHANGES_AT_ONCE]
    cdef Py_ssize_t place, count = 0
    for topic in topics:
        pending[count].slot = slot_of(slots, topic)
        pending[count].place = 0
        count += pending[count].slot != NULL
    with nogil:
        lock(slots)
        for place in range(count):
            pending[place].fragment = remove_fragment(&slots.routes, pending[place].slot, broker, &pending[place].place)
            pending[place].emptied = pending[place].fragment != 0 and pending[place].slot.count == 0
            if pending[place].emptied:
                remove_slot(&slots.routes, pending[place].slot)
        unlock(slots)
    for place in range(count):
        if pending[place].fragment:
            change_digest(&slots.buckets, pending[place].slot,
                          0 - slots.routes.fragments[pending[place].fragment].digest)
            release(slots, pending[place].fragment)
    for place in range(count):
        if pending[place].emptied:
            free_removed(slots, pending[place].slot)
    return 0


cdef int make_slots(RouteSlots slots, changes, Change *pending) except -1:
    """The slots of those that have none yet. A topic may come twice."""
    cdef Py_ssize_t place, count = 0
    cdef Slot *made[CHANGES_AT_ONCE]
    cdef dict new = {<object>PyTuple_GetItem(change, 0): None for place, change in enumerate(changes)
                     if pending[place].slot == NULL}
    while (slots.routes.used + len(new)) * 2 > slots.routes.mask:
        grow_table(slots)
    for topic in new:
        made[count] = make_slot(topic, &slots.routes.key)
        made[count].handed_over = topic in slots.handed_over
        count += 1
    with nogil:
        lock(slots)
        for place in range(count):
            insert_slot(&slots.routes, made[place])
        unlock(slots)
    for place in range(count):
        slots.held_bytes += <int64_t>slot_bytes(made[place])
        link_slot(made[place], slots.last_hit)
        slots.last_hit = made[place]
    for place, change in enumerate(changes):
        if pending[place].slot == NULL:
            pending[place].slot = slot_of(slots, <object>PyTuple_GetItem(change, 0))
    return 0


cdef int grow_table(RouteSlots slots) except -1:
    cdef Routes larger = slots.routes
    cdef Slot **old = slots.routes.table
    double_table(&larger)
    lock(slots)
    slots.routes = larger
    unlock(slots)
    free(old)
    return 0


cdef void free_removed(RouteSlots slots, Slot *slot) noexcept:
    """A slot that is not in the table any more."""
    cdef Slot *previous = unlink_slot(slot)
    if slots.last_hit == slot:
        slots.last_hit = previous
    slots.held_bytes -= <int64_t>slot_bytes(slot)
    free_slot(slot)


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


cdef class PublishedTopics(KnownTopics):
    """``place`` is where the broker's fragment was in the last slot; the next slot mostly has it there too."""

    cdef RouteSlots slots
    cdef uint32_t broker
    cdef uint32_t place
    cdef uint64_t registration

    def __cinit__(self, RouteSlots slots not None, str broker_name not None):
        slots.registrations += 1
        self.slots, self.registration = slots, slots.registrations
        self.broker, self.place = slots.broker_numbers.get(broker_name, 0), 0

    cdef Standing look_up(self, const Topic *topic, void **key) noexcept:
        cdef Slot *slot = find_next_slot(&self.slots.routes, &self.slots.last_hit, topic.key.start, topic.key.length)
        if slot == NULL or not slot.is_text:
            return NEW
        if slot.seen == self.registration:
            return REPEATED
        slot.seen, key[0] = self.registration, slot.topic
        return UNCHANGED if self.is_unchanged(topic, slot) else CHANGED

    cdef bint is_unchanged(self, const Topic *topic, const Slot *slot) noexcept:
        """Whether the broker has the topic with these queues."""
        cdef const Routes *routes = &self.slots.routes
        cdef uint32_t fragment
        if self.broker == 0 or not same_text(&topic.key, &topic.name):
            return False
        if not find_place(routes, slot, self.broker, &self.place):
            return False
        fragment = slot.fragments[self.place]
        return memcmp(routes.fragments[fragment].numbers, topic.numbers, 4 * sizeof(int32_t)) == 0

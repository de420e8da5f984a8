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
    DEFAULT, DIALECTS, LISTENERS_MAX, STANDARD, VIEWS_MAX, Fragment, bucket_of, change_digest, clear_bytes,
    double_table, find_entry, find_next_slot, free_slot, grown, insert_slot, key_of, link_slot, make_slot, name_hash,
    remove_entry, remove_slot, set_bytes, set_entry, slot_bytes, unlink_slot
)
from rocketns._fast.system.stable_abi cimport ascii_of
from rocketns._fast.system.threads cimport assert_owner, pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 1024
    BROKERS_MIN = 16
    FRAGMENTS_MIN = 64
    CHANGES_AT_ONCE = 64  # entries set under one lock


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
        self.free_mapped(self.routes.mapped, self.mapped_count(self.routes.views))
        free(self.routes.table)
        free(self.routes.brokers)
        free(self.routes.fragments)

    @property
    def memory_bytes(self):
        return (
            self.held_bytes + (self.routes.mask + 1) * sizeof(Slot *) + self.broker_capacity * sizeof(BrokerEntry)
            + self.fragment_capacity * sizeof(Fragment) + self.mapped_count(self.routes.views) * sizeof(Bytes)
        )

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1:
        """Control, before the reader's thread starts."""
        if self.reader_count == READERS_MAX:
            raise ValueError(f"more than {READERS_MAX} readers")
        self.readers[self.reader_count] = mutex
        self.reader_count += 1
        return 0

    cdef void lock(self) noexcept nogil:
        """Control only. Every method that writes what reactors read comes through here."""
        assert_owner(&self.writer, "RouteSlots.lock")
        for place in range(self.reader_count):
            pthread_mutex_lock(self.readers[place])

    cdef void unlock(self) noexcept nogil:
        for place in range(self.reader_count):
            pthread_mutex_unlock(self.readers[place])

    def put_broker(self, str broker_name, bytes default, bytes standard, bint handed_over, tuple mapped=()):
        cdef uint32_t broker = self.broker_of(broker_name)
        cdef BrokerEntry old, new
        cdef Bytes of_views[VIEWS_MAX * DIALECTS]
        self.make_mapped(of_views, self.routes.views, mapped)
        new = self.routes.brokers[broker]
        set_bytes(&new.datas[DEFAULT], default)
        set_bytes(&new.datas[STANDARD], standard)
        new.present, new.handed_over = True, handed_over
        self.lock()
        old = self.routes.brokers[broker]
        self.routes.brokers[broker] = new
        self.swap_mapped(broker, of_views)
        self.unlock()
        self.held_bytes += <int64_t>len(default) + <int64_t>len(standard)
        self.clear_datas(&old)
        self.clear_mapped(of_views, self.routes.views * DIALECTS)

    cdef size_t mapped_count(self, uint32_t views) noexcept:
        """How many elements the table of that many views has."""
        return <size_t>self.broker_capacity * views * DIALECTS

    cdef int make_mapped(self, Bytes *of_views, uint32_t views, tuple mapped) except -1:
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
                self.held_bytes += <int64_t>len(default) + <int64_t>len(standard)
        return 0

    cdef void swap_mapped(self, uint32_t broker, Bytes *of_views) noexcept nogil:
        """Control, locked. Exchange the broker's elements with others."""
        cdef size_t place, count = self.routes.views * DIALECTS
        cdef Bytes *mapped = &self.routes.mapped[broker * count]
        cdef Bytes other
        for place in range(count):
            other = mapped[place]
            mapped[place] = of_views[place]
            of_views[place] = other

    cdef void clear_mapped(self, Bytes *mapped, size_t count) noexcept:
        """On elements that no reactor sees any more."""
        cdef size_t place
        for place in range(count):
            self.held_bytes -= mapped[place].length
            clear_bytes(&mapped[place])

    cdef void free_mapped(self, Bytes *mapped, size_t count) noexcept:
        """A whole table that no reactor sees any more."""
        self.clear_mapped(mapped, count)
        free(mapped)

    def change_views(self, Networks networks not None, list of_listeners not None, uint32_t views, dict mapped not None):
        cdef Bytes *made
        cdef Bytes *old = self.routes.mapped
        cdef Networks former = self.view_networks  # reactors may read it until the change
        cdef uint32_t broker
        cdef size_t old_count = self.mapped_count(self.routes.views), made_count = self.mapped_count(views)
        if views > VIEWS_MAX or not 0 < len(of_listeners) <= LISTENERS_MAX or max(of_listeners) > views:
            raise ValueError(f"{views} views, {len(of_listeners)} listeners")
        made = <Bytes *>calloc(max(made_count, <size_t>1), sizeof(Bytes))
        if made == NULL:
            raise MemoryError
        try:
            for name, pairs in mapped.items():
                broker = self.broker_numbers[name]
                self.make_mapped(&made[<size_t>broker * views * DIALECTS], views, pairs)
        except BaseException:
            self.free_mapped(made, made_count)
            raise
        self.view_networks = networks
        self.lock()
        self.routes.mapped, self.routes.views, self.routes.view_networks = made, views, &networks.table
        self.routes.view_generation += 1
        for place in range(LISTENERS_MAX):
            self.routes.view_of_listener[place] = of_listeners[place] if place < len(of_listeners) else 0
        self.unlock()
        self.free_mapped(old, old_count)
        del former

    def mapped_bytes(self):
        """By view."""
        cdef size_t place, view, size
        cdef list found = []
        for view in range(self.routes.views):
            size = self.broker_capacity * DIALECTS * sizeof(Bytes)
            for place in range(self.mapped_count(self.routes.views)):
                if place // DIALECTS % self.routes.views == view:
                    size += self.routes.mapped[place].length
            found.append(size)
        return found

    cdef void clear_datas(self, BrokerEntry *old) noexcept:
        """On elements that no reactor sees any more."""
        for dialect in range(DIALECTS):
            if old.datas[dialect].start != NULL:
                self.held_bytes -= old.datas[dialect].length
            clear_bytes(&old.datas[dialect])

    def remove_broker(self, str broker_name):
        cdef object found = self.broker_numbers.get(broker_name)
        cdef uint32_t broker
        cdef BrokerEntry old
        cdef Bytes of_views[VIEWS_MAX * DIALECTS]
        if found is None:
            return
        broker = found
        self.make_mapped(of_views, self.routes.views, ())
        self.lock()
        self.swap_mapped(broker, of_views)
        old = self.routes.brokers[broker]
        self.routes.brokers[broker].present = self.routes.brokers[broker].handed_over = False
        self.routes.brokers[broker].datas[DEFAULT].start = self.routes.brokers[broker].datas[STANDARD].start = NULL
        self.unlock()
        self.clear_datas(&old)
        self.clear_mapped(of_views, self.routes.views * DIALECTS)
        self.drop_broker_if_unused(broker)

    def put_topics(self, str broker_name, changes):
        cdef Change pending[CHANGES_AT_ONCE]
        cdef uint32_t broker = self.broker_of(broker_name)
        cdef Py_ssize_t start, count, place, done
        for start in range(0, len(changes), CHANGES_AT_ONCE):
            count = min(len(changes) - start, <Py_ssize_t>CHANGES_AT_ONCE)
            self.prepare(broker_name, broker, changes[start : start + count], pending)
            done = 0
            with nogil:
                self.lock()
                while done < count and set_entry(&pending[done]):
                    done += 1
                self.unlock()
            for place in range(done):
                self.held_bytes += <int64_t>pending[place].grown
                change_digest(&self.buckets, pending[place].slot,
                              pending[place].digest - self.routes.fragments[pending[place].fragment].digest)
            for place in range(count):
                if pending[place].fragment:
                    self.release(pending[place].fragment)
            if done < count:
                raise MemoryError

    cdef int prepare(self, str broker_name, uint32_t broker, changes, Change *pending) except -1:
        """Control only. All that needs no lock: find the slots, then the places, then the fragments.

        In three steps, so that the memory of many topics is waited for at once.
        """
        cdef Py_ssize_t place
        cdef uint32_t guess = 0, fragment = 0
        cdef bint missing = False
        cdef object queues, last = None
        for place, change in enumerate(changes):
            pending[place].slot = self.slot_of(<object>PyTuple_GetItem(change, 0))
            missing = missing or pending[place].slot == NULL
        if missing:
            self.make_slots(changes, pending)
        for place, change in enumerate(changes):
            pending[place].place = guess
            find_entry(&self.routes, pending[place].slot, broker, &pending[place].place)
            guess = pending[place].place
        for place, change in enumerate(changes):
            queues = <object>PyTuple_GetItem(change, 2)
            if queues is last:
                self.routes.fragments[fragment].references += 1
            else:
                fragment, last = self.fragment_of(broker, broker_name, queues), queues
            pending[place].broker, pending[place].fragment = broker, fragment
            pending[place].digest = self.routes.fragments[fragment].digest
        return 0

    def delete_topics(self, str broker_name, topics):
        cdef object found = self.broker_numbers.get(broker_name)
        cdef uint32_t broker
        cdef Py_ssize_t start
        if found is None:
            return
        broker = found
        for start in range(0, len(topics), CHANGES_AT_ONCE):
            self.delete_some(broker, topics[start : start + CHANGES_AT_ONCE])
        self.drop_broker_if_unused(broker)

    cdef int delete_some(self, uint32_t broker, topics) except -1:
        """At most CHANGES_AT_ONCE topics."""
        cdef Change pending[CHANGES_AT_ONCE]
        cdef Py_ssize_t place, count = 0
        for topic in topics:
            pending[count].slot = self.slot_of(topic)
            pending[count].place = 0
            count += pending[count].slot != NULL
        with nogil:
            self.lock()
            for place in range(count):
                pending[place].fragment = remove_entry(&self.routes, pending[place].slot, broker, &pending[place].place)
                pending[place].emptied = pending[place].fragment != 0 and pending[place].slot.count == 0
                if pending[place].emptied:
                    remove_slot(&self.routes, pending[place].slot)
            self.unlock()
        for place in range(count):
            if pending[place].fragment:
                change_digest(&self.buckets, pending[place].slot,
                              0 - self.routes.fragments[pending[place].fragment].digest)
                self.release(pending[place].fragment)
        for place in range(count):
            if pending[place].emptied:
                self.free_removed(pending[place].slot)
        return 0

    def hand_over(self, str topic):
        cdef Slot *slot = self.slot_of(topic)
        self.handed_over.add(topic)
        if slot != NULL:
            self.lock()
            slot.handed_over = True
            self.unlock()

    cdef uint32_t broker_of(self, str broker_name) except? 0:
        cdef object found = self.broker_numbers.get(broker_name)
        cdef uint32_t broker
        cdef Py_ssize_t start
        if found is not None:
            return found
        if self.free_brokers:
            broker = self.free_brokers.pop()
        else:
            if self.broker_count == self.broker_capacity:
                self.grow_brokers()
            broker = self.broker_count
            self.broker_count += 1
        start = bisect_left(self.broker_names, broker_name)
        self.broker_names.insert(start, broker_name)
        self.broker_numbers[broker_name] = broker
        self.rank_brokers(start)
        return broker

    cdef int grow_brokers(self) except -1:
        cdef uint32_t capacity = self.broker_capacity * 2
        cdef BrokerEntry *old = self.routes.brokers
        cdef BrokerEntry *brokers = <BrokerEntry *>grown(old, self.broker_capacity, capacity, sizeof(BrokerEntry))
        cdef Bytes *old_mapped = self.routes.mapped
        cdef Bytes *mapped = old_mapped
        cdef size_t of_broker = self.routes.views * DIALECTS * sizeof(Bytes)
        if of_broker:
            mapped = <Bytes *>grown(old_mapped, self.broker_capacity, capacity, of_broker)
        self.lock()
        self.routes.brokers, self.routes.mapped = brokers, mapped
        self.unlock()
        self.broker_capacity = capacity
        free(old)
        if of_broker:
            free(old_mapped)
        return 0

    cdef int rank_brokers(self, Py_ssize_t start) except -1:
        """Renumber the brokers from a place in the order of their names. Entries stay sorted: no two change order."""
        cdef Py_ssize_t place
        cdef uint32_t broker
        self.lock()
        for place in range(start, len(self.broker_names)):
            broker = self.broker_numbers[self.broker_names[place]]
            self.routes.brokers[broker].rank = <uint32_t>place
        self.unlock()
        return 0

    cdef int drop_broker_if_unused(self, uint32_t broker) except -1:
        cdef Py_ssize_t place
        if self.routes.brokers[broker].present or self.routes.brokers[broker].fragments:
            return 0
        for place, name in enumerate(self.broker_names):
            if self.broker_numbers[name] == broker:
                del self.broker_names[place]
                del self.broker_numbers[name]
                self.free_brokers.append(broker)
                return self.rank_brokers(place)
        return 0

    cdef uint32_t fragment_of(self, uint32_t broker, str broker_name, object queues) except? 0:
        """A fragment with these queues, and one reference to it for the caller."""
        cdef tuple key = (broker, queues)
        cdef object found = self.fragment_ids.get(key)
        cdef uint32_t fragment
        cdef Fragment *new
        if found is not None:
            fragment = found
            self.routes.fragments[fragment].references += 1
            return fragment
        element = self.queue_element(broker_name, queues)
        if self.free_fragments:
            fragment = self.free_fragments.pop()
        else:
            if self.fragment_count == self.fragment_capacity:
                self.grow_fragments()
            fragment = self.fragment_count
            self.fragment_count += 1
        new = &self.routes.fragments[fragment]
        set_bytes(&new.element, element)
        self.held_bytes += new.element.length
        new.references, new.broker = 1, broker
        new.digest = int.from_bytes(blake2b(element, digest_size=sizeof(uint64_t)).digest(), "little")
        for place in range(4):
            new.numbers[place] = queues[place]
        self.routes.brokers[broker].fragments += 1
        self.fragment_ids[key] = fragment
        self.fragment_keys[fragment] = key
        return fragment

    cdef int grow_fragments(self) except -1:
        cdef uint32_t capacity = self.fragment_capacity * 2
        cdef Fragment *old = self.routes.fragments
        cdef Fragment *fragments = <Fragment *>grown(old, self.fragment_capacity, capacity, sizeof(Fragment))
        self.lock()
        self.routes.fragments = fragments
        self.unlock()
        self.fragment_capacity = capacity
        free(old)
        return 0

    cdef int release(self, uint32_t fragment) except -1:
        """Drop one reference. With the last one the fragment is freed, so no entry in the table may name it."""
        cdef Fragment *gone = &self.routes.fragments[fragment]
        gone.references -= 1
        if gone.references == 0:
            self.routes.brokers[gone.broker].fragments -= 1
            del self.fragment_ids[self.fragment_keys.pop(fragment)]
            self.held_bytes -= gone.element.length
            clear_bytes(&gone.element)
            self.free_fragments.append(fragment)
        return 0

    cdef Slot *slot_of(self, str topic) except? NULL:
        cdef bytes key
        cdef const uint8_t *ascii_key = <const uint8_t *>ascii_of(topic)
        if ascii_key != NULL:  # as nearly every topic is: its own bytes are the key
            return find_next_slot(&self.routes, &self.last_hit, ascii_key, len(topic))
        key = key_of(topic)
        return find_next_slot(&self.routes, &self.last_hit, <const uint8_t *>key, len(key))

    cdef int make_slots(self, changes, Change *pending) except -1:
        """The slots of those that have none yet. A topic may come twice."""
        cdef Py_ssize_t place, count = 0
        cdef Slot *made[CHANGES_AT_ONCE]
        cdef dict new = {<object>PyTuple_GetItem(change, 0): None for place, change in enumerate(changes)
                         if pending[place].slot == NULL}
        while (self.routes.used + len(new)) * 2 > self.routes.mask:
            self.grow_table()
        for topic in new:
            made[count] = make_slot(topic, &self.routes.key)
            made[count].handed_over = topic in self.handed_over
            count += 1
        with nogil:
            self.lock()
            for place in range(count):
                insert_slot(&self.routes, made[place])
            self.unlock()
        for place in range(count):
            self.held_bytes += <int64_t>slot_bytes(made[place])
            link_slot(made[place], self.last_hit)
            self.last_hit = made[place]
        for place, change in enumerate(changes):
            if pending[place].slot == NULL:
                pending[place].slot = self.slot_of(<object>PyTuple_GetItem(change, 0))
        return 0

    cdef int grow_table(self) except -1:
        cdef Routes larger = self.routes
        cdef Slot **old = self.routes.table
        double_table(&larger)
        self.lock()
        self.routes = larger
        self.unlock()
        free(old)
        return 0

    cdef void free_removed(self, Slot *slot) noexcept:
        """A slot that is not in the table any more."""
        cdef Slot *previous = unlink_slot(slot)
        if self.last_hit == slot:
            self.last_hit = previous
        self.held_bytes -= <int64_t>slot_bytes(slot)
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
    cdef Slot *slot = slots.slot_of(topic)
    return None if slot == NULL or slot.digest == 0 else slot.digest


def topic_count(RouteSlots slots not None):
    return slots.routes.used


cdef class PublishedTopics(KnownTopics):
    """``place`` is where the broker's entry was in the last slot; the next slot mostly has it there too."""

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
        if not find_entry(routes, slot, self.broker, &self.place):
            return False
        fragment = slot.entries[self.place].fragment
        return memcmp(routes.fragments[fragment].numbers, topic.numbers, 4 * sizeof(int32_t)) == 0

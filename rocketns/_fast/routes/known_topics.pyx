"""Which topics of a registration the slots hold unchanged: of 10,000 topics hardly one is new."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcmp

from rocketns._fast.codec.compact_json cimport same_text
from rocketns._fast.codec.register_body cimport CHANGED, NEW, REPEATED, UNCHANGED, KnownTopics, Standing
from rocketns._fast.codec.topic_config cimport Topic
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport Routes, Slot, find_entry, find_next_slot


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

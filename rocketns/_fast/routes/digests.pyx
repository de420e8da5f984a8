"""Reads the digests that the route slots keep; `digest_sums` says what they are. Control only."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.routes.digest_sums cimport bucket_of, name_hash
from rocketns._fast.routes.routes cimport RouteSlots
from rocketns._fast.routes.slots cimport Slot


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

"""The routes of all topics. Control is the only thread that writes them, and the only one that calls these methods."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from rocketns._fast.access.networks cimport Networks
from rocketns._fast.routes.slots cimport BrokerEntry, Buckets, Bytes, Change, Routes, Slot
from rocketns._fast.system.threads cimport Owner, pthread_mutex_t

cdef enum:
    READERS_MAX = 8

cdef class RouteSlots:
    # Reactors read it, each with its mutex.
    cdef Routes routes
    # Fixed.
    cdef pthread_mutex_t *readers[READERS_MAX]  # the `routes_mutex` of each reactor
    cdef int reader_count
    cdef object queue_element
    # Control only, from here on.
    cdef Owner writer  # control's thread, for debug builds
    cdef Networks view_networks  # keeps those of `routes` alive
    cdef Slot *last_hit  # see `find_next_slot`
    cdef set handed_over  # topics that control answers for
    cdef dict broker_numbers
    cdef list broker_names
    cdef list free_brokers
    cdef uint32_t broker_count
    cdef uint32_t broker_capacity
    cdef dict fragment_ids
    cdef dict fragment_keys
    cdef list free_fragments
    cdef uint32_t fragment_count
    cdef uint32_t fragment_capacity
    cdef uint64_t registrations  # see `Slot.seen`
    cdef Buckets buckets
    # Any thread may read.
    cdef int64_t held_bytes  # of slots with their entries, and of elements

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1
    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    cdef void clear_datas(self, BrokerEntry *old) noexcept
    cdef size_t mapped_count(self, uint32_t views) noexcept
    cdef int make_mapped(self, Bytes *of_views, uint32_t views, tuple mapped) except -1
    cdef void swap_mapped(self, uint32_t broker, Bytes *of_views) noexcept nogil
    cdef void clear_mapped(self, Bytes *mapped, size_t count) noexcept
    cdef void free_mapped(self, Bytes *mapped, size_t count) noexcept
    cdef uint32_t broker_of(self, str broker_name) except? 0
    cdef int grow_brokers(self) except -1
    cdef int rank_brokers(self, Py_ssize_t start) except -1
    cdef int drop_broker_if_unused(self, uint32_t broker) except -1
    cdef uint32_t fragment_of(self, uint32_t broker, str broker_name, object queues) except? 0
    cdef int grow_fragments(self) except -1
    cdef int release(self, uint32_t fragment) except -1
    cdef Slot *slot_of(self, str topic) except? NULL
    cdef int prepare(self, str broker_name, uint32_t broker, changes, Change *pending) except -1
    cdef int delete_some(self, uint32_t broker, topics) except -1
    cdef int make_slots(self, changes, Change *pending) except -1
    cdef int grow_table(self) except -1
    cdef void free_removed(self, Slot *slot) noexcept

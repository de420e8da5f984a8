"""The routes of all topics. Control is the only thread that writes them, and the only one that calls these methods."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from rocketns._fast.access.networks cimport Networks
from rocketns._fast.routes.slots cimport Buckets, Routes, Slot
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
    cdef dict brokers  # addresses of each BrokerEntry, by name
    cdef list broker_names  # sorted
    cdef dict fragments  # addresses of each Fragment, by broker name and queues
    cdef uint32_t registrations  # see `Slot.seen`
    cdef Buckets buckets
    # Any thread may read.
    cdef int64_t charged_bytes  # of slots, and of elements

    cdef int add_reader(self, pthread_mutex_t *mutex) except -1

"""What compiled callers may use of reactors.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport Networks
from rocketns._fast.connections.hosts cimport HostRing, HostTable
from rocketns._fast.connections.messages cimport Message, MessageKind
from rocketns._fast.reactor.reactor_state cimport Shared
from rocketns._fast.routes.routes cimport RouteSlots

cdef int deliver_one(Message *message, receiver) except -1

cdef class Reactors:
    cdef Shared shared
    cdef HostRing waiting  # taken from `shared.to_control`, not yet given to Python. Control only
    cdef Networks networks  # of `shared.policy`, which has a pointer into them. Control only
    cdef readonly RouteSlots slots  # fixed
    cdef readonly int count  # fixed
    cdef readonly HostTable hosts  # fixed
    cdef Networks proxies  # fixed before the threads start: `shared.proxies` points into them

    cdef void collect(self) noexcept
    cdef int post(
        self, int number, MessageKind kind, uint64_t connection, int argument, const uint8_t *data, size_t size,
        int64_t moment=*
    ) except -1
    cdef int post_all(self, MessageKind kind, int64_t moment) except -1
    cdef int reactor_of(self, uint64_t connection) except -1

"""What compiled callers may use of reactors.pyx."""

from rocketns._fast.access.networks cimport Networks
from rocketns._fast.connections.hosts cimport HostTable
from rocketns._fast.connections.messages cimport HostRing
from rocketns._fast.reactor.reactor_state cimport Shared
from rocketns._fast.routes.routes cimport RouteSlots

cdef class Reactors:
    cdef Shared shared
    cdef HostRing waiting  # taken from `shared.to_control`, not yet given to Python. Control only
    cdef Networks networks  # of `shared.policy`, which has a pointer into them. Control only
    cdef readonly RouteSlots slots  # fixed
    cdef readonly int count  # fixed
    cdef readonly HostTable hosts  # fixed
    cdef Networks proxies  # fixed before the threads start: `shared.proxies` points into them

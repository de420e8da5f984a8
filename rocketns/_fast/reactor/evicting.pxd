"""What compiled callers may use of evicting.pyx."""

from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.hosts cimport HOSTS, INPUT, TLS
from rocketns._fast.reactor.reactor_state cimport Reactor, Shared
from rocketns._fast.system.threads cimport load

cdef enum:
    ANY = -1

# The connection that is to be closed: the first in the list of a host, strangers or known ones, of a reactor.
cdef struct Victim:
    int owner
    int known
    uint32_t number  # of the host


cdef enum:
    EXCESS_PARTS = 8  # of the limit: over one of them, nobody waits until another thread has closed the right one


cdef inline int64_t excess(const Shared *shared, int kind) noexcept nogil:
    """Any thread. Bytes over the limit; not positive where there are none."""
    cdef int64_t held = load(&shared.hosts.held_bytes[kind])
    if kind == INPUT:
        held += load(&shared.hosts.held_bytes[TLS])
    return held - shared.limits.held_bytes_max[kind]


cdef inline bint is_far_over(const Shared *shared, int kind) noexcept nogil:
    """Any thread."""
    return excess(shared, kind) > shared.limits.held_bytes_max[kind] // EXCESS_PARTS

cdef inline uint32_t greedy_host(const Shared *shared, int kind, int known) noexcept nogil:
    """Any thread. The host that was the largest when its last bytes came, unless another was; HOSTS where it keeps within
    its bound."""
    cdef uint32_t host = <uint32_t>load(&shared.hosts.largest[kind][known])
    return host if load(&shared.hosts.hosts[host].held_bytes[kind][known]) > shared.limits.host_bytes_max[kind] else HOSTS


cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil
cdef Connection *relieve(Reactor *reactor, int kind, Connection *adding) noexcept nogil
cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil

cdef void close_some_idle(Reactor *reactor) noexcept nogil
cdef void close_idle(Reactor *reactor, int64_t now_ms) noexcept nogil

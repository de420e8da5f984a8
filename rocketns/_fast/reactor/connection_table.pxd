"""What compiled callers may use of connection_table.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.hosts cimport HOSTS, INPUT, TLS
from rocketns._fast.reactor.reactor_state cimport Reactor, Shared
from rocketns._fast.system.threads cimport load

cdef enum:
    ANY = -1
    # So many bytes that came, or were taken, are progress. So is the rest of a frame, or of the answers.
    PROGRESS_BYTES = 16384
    EXCESS_PARTS = 8  # of the limit: over one of them, nobody waits until another thread has closed the right one

# The connection that is to be closed: the first in the list of a host, strangers or known ones, of a reactor.
cdef struct Victim:
    int owner
    int known
    uint32_t number  # of the host

cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil
cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil
cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil
cdef void send_connection(Reactor *target, Connection *connection) noexcept nogil
cdef void move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil
cdef int64_t lookups_of(Reactor *reactor, uint64_t id) noexcept nogil

cdef void hold(Reactor *reactor, int kind, Connection *connection, size_t size) noexcept nogil
cdef void note_progress(Reactor *reactor, int kind, Connection *connection) noexcept nogil
cdef void note_known(Reactor *reactor, Connection *connection, bint is_known) noexcept nogil

cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil
cdef Connection *relieve(Reactor *reactor, int kind, Connection *adding) noexcept nogil
cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil
cdef void close_some_idle(Reactor *reactor) noexcept nogil


cdef inline void count_held(Reactor *reactor, int kind, Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes now. Nothing is done where it holds none, as before."""
    if size != connection.held[kind]:
        hold(reactor, kind, connection, size)
    if size and connection.moved[kind] >= PROGRESS_BYTES:
        note_progress(reactor, kind, connection)


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

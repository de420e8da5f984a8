"""What compiled callers may use of connection_table.pyx."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t

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
    int party
    uint32_t number  # of the host

cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil
cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil
cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil
cdef void move(Reactor *reactor, Connection *connection, Reactor *target) noexcept nogil

cdef void set_charge(Reactor *reactor, int kind, Connection *connection, size_t size) noexcept nogil
cdef void note_progress(Reactor *reactor, int kind, Connection *connection) noexcept nogil
cdef void note_broker(Reactor *reactor, Connection *connection, bint is_broker) noexcept nogil

cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil
cdef Connection *relieve(Reactor *reactor, int kind, Connection *adding) noexcept nogil
cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil
cdef void close_some_idle(Reactor *reactor) noexcept nogil


cdef inline void charge_bytes(Reactor *reactor, int kind, Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes now. Nothing is done where it holds none, as before."""
    if size != connection.charged[kind]:
        set_charge(reactor, kind, connection, size)
    if size and connection.moved[kind] >= PROGRESS_BYTES:
        note_progress(reactor, kind, connection)


cdef inline int64_t excess(const Shared *shared, int kind) noexcept nogil:
    """Any thread. Bytes over the limit; not positive where there are none."""
    cdef int64_t charged = load(&shared.hosts.charged_bytes[kind])
    if kind == INPUT:
        charged += load(&shared.hosts.charged_bytes[TLS])
    return charged - shared.limits.charged_bytes_max[kind]


cdef inline bint is_far_over(const Shared *shared, int kind) noexcept nogil:
    """Any thread."""
    return excess(shared, kind) > shared.limits.charged_bytes_max[kind] // EXCESS_PARTS


cdef inline uint32_t greedy_host(const Shared *shared, int kind, int party) noexcept nogil:
    """Any thread. The host that was the largest when its last bytes came, unless another was; HOSTS where it keeps
    within its bound."""
    cdef uint32_t host = <uint32_t>load(&shared.hosts.largest[kind][party])
    cdef int64_t charged = load(&shared.hosts.hosts[host].charged_bytes[kind][party])
    return host if charged > shared.limits.host_bytes_max[kind] else HOSTS

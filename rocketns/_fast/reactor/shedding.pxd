"""What compiled callers may use of shedding.pyx."""

from libc.stdint cimport uint32_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor, Shared

cdef enum:
    ANY = -1

# The connection that is to be closed: the first in the list of a host, strangers or known ones, of an owner. The owner
# is a reactor's number, or `loop_of`: control's loop, which has connections too.
cdef struct Victim:
    int owner
    int known
    uint32_t host


cdef inline int loop_of(const Shared *shared) noexcept nogil:
    """Any thread. Control's loop as an owner."""
    return shared.reactor_count


cdef bint find_victim(const Shared *shared, int kind, int owner, Victim *victim) noexcept nogil
cdef Connection *relieve(Reactor *reactor, int kind, Connection *adding) noexcept nogil
cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil

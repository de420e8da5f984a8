"""What compiled callers may use of answers.pyx; and lookups without a route that wait for the registrations that came before them.

A broker registers at one connection, and a client asks at another one at once: control has the registration then, and
has not applied it. Java's answer would have the route, because its threads take both at the same time. So such a lookup
waits until all frames that came before it have taken effect, `Limits.deferred_ms_max` at most. "Before" includes what
waits in sockets: a lookup behind which this round may still find a registration waits for the next round, too.

A copy of the frame waits, so the connection's other requests do not. There are few of them, by host and in all: a
flood of such lookups is answered at once. All functions are for the reactor's thread.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t

from rocketns._fast.connections.connection cimport Buffer, Connection
from rocketns._fast.reactor.reactor_state cimport Deferred, Reactor, Shared

cdef bint is_applied(const Shared *shared, int64_t epoch) noexcept nogil
cdef int deferred_wait_ms(const Reactor *reactor) noexcept nogil
cdef void end_round(Reactor *reactor) noexcept nogil
cdef bint next_due(Reactor *reactor, Deferred *due) noexcept nogil
cdef void free_deferred(Reactor *reactor) noexcept nogil

cdef void send_written(Reactor *reactor, Connection *connection) noexcept nogil
cdef bint refuse(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil
cdef size_t header_end(const uint8_t *frame, size_t size) noexcept nogil
cdef bint answer(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, bint was_deferred
) noexcept nogil

"""What compiled callers may use of answers.pyx; and lookups without a route, which wait for earlier registrations.

A broker registers at one connection, and a client asks at another one at once: control has the registration then, and
has not applied it. Java's answer would have the route, because its threads take both at the same time. So such a lookup
waits as long as control has frames that it has not applied, `Limits.deferred_ms_max` at most. What waits in sockets
came before it, too: it waits for the end of this round, which may find such frames, and of the next.

A copy of the frame waits, so the connection's other requests do not. It is the message that control gets if reactors
may not answer the lookup any more; meanwhile its `moment` says until when it waits, and its `number` for which of the
reactor's rounds. There are few of them, by host and in all: a flood of such lookups is answered at once. All functions
are for the reactor's thread.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.connections.connection cimport Buffer, Connection
from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void send_written(Reactor *reactor, Connection *connection) noexcept nogil
cdef bint refuse(Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size) noexcept nogil
cdef bint answer(
    Reactor *reactor, Connection *connection, const uint8_t *frame, size_t size, bint was_deferred
) noexcept nogil

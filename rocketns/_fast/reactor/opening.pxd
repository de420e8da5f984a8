"""What the loop of reactor.pyx calls of opening.pyx."""

from libc.stdint cimport uint32_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void listen_again(Reactor *reactor, bint accepting) noexcept nogil
cdef void accept_some(Reactor *reactor) noexcept nogil
cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil
cdef void adopt(Reactor *reactor, Connection *connection) noexcept nogil
cdef void note_context(Reactor *reactor) noexcept nogil
cdef void on_handshake_event(Reactor *reactor, Connection *connection, uint32_t events) noexcept nogil
cdef void step_handshakes(Reactor *reactor) noexcept nogil

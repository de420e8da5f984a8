"""What compiled callers may use of turns.pyx."""

from rocketns._fast.access.policy cimport Policy, PolicyCopy
from rocketns._fast.connections.connection cimport Buffer, Connection
from rocketns._fast.reactor.reactor_state cimport Reactor

cdef bint admit(Policy *policy, PolicyCopy *copy, Connection *connection) noexcept nogil
cdef void end_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil
cdef void receive(Reactor *reactor, Connection *connection) noexcept nogil
cdef void process_records(Reactor *reactor, Connection *connection) noexcept nogil
cdef void resume(Reactor *reactor, Connection *connection) noexcept nogil
cdef void resume_stalled(Reactor *reactor) noexcept nogil
cdef void answer_deferred(Reactor *reactor) noexcept nogil
cdef void finish_turn(Reactor *reactor, Connection *connection) noexcept nogil

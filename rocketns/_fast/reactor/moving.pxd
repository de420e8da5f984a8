"""What compiled callers may use of moving.pyx."""

from rocketns._fast.connections.messages cimport Message
from rocketns._fast.reactor.reactor_state cimport Reactor

cdef void give(Reactor *reactor, const Message *message) noexcept nogil
cdef void take_moving(Reactor *reactor, Message *message) noexcept nogil
cdef void drop_moving(Reactor *reactor, Message *message) noexcept nogil

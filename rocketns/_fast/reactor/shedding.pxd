"""What compiled callers may use of shedding.pyx."""

from rocketns._fast.reactor.reactor_state cimport Reactor, Shared

cdef enum:
    NOBODY = -1
    LOOP = -2  # control's loop, which has connections too

cdef void relieve(Reactor *reactor, int kind) noexcept nogil
cdef int who_is_to_close(Shared *shared, int kind) noexcept nogil
cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil

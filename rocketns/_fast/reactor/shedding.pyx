"""Over the limit for all connections together: the connection that holds the most is closed, wherever it is.

Every reactor and control's loop publish how much the largest of theirs holds. Who notices the excess closes, if the
largest is its own, and asks the owner of the largest otherwise. An owner closes no more than is needed.
"""

from libc.stdint cimport int64_t

from rocketns._fast.system.atomics cimport add, load, store
from rocketns._fast.connections.holders cimport INPUT
from rocketns._fast.connections.messages cimport (
    EXCESS,
    SHED,
    TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT_IN_ALL,
    Message,
    new_message,
    push,
)
from rocketns._fast.reactor.connection_table cimport close_connection

cdef enum:
    CLOSED_AT_ONCE_MAX = 16  # the next turn goes on where that is not enough


cdef inline int64_t excess(Shared *shared, int kind) noexcept nogil:
    return load(&shared.held_bytes[kind]) - shared.limits.held_bytes_max[kind]


cdef int who_is_to_close(Shared *shared, int kind) noexcept nogil:
    """The number of the reactor whose largest connection is the largest of all; LOOP or NOBODY."""
    cdef int64_t most = load(&shared.largest_of_loop[kind]), other
    cdef int owner = LOOP if most else NOBODY
    cdef int number
    if excess(shared, kind) <= 0:
        return NOBODY
    for number in range(shared.reactor_count):
        other = load(&shared.reactors[number].holders[kind].largest)
        if other > most:
            most, owner = other, number
    return owner


cdef void ask_to_close(Shared *shared, int kind, int owner) noexcept nogil:
    """Ask once, until the owner has begun."""
    cdef Message *message
    if owner == NOBODY or add(&shared.asked[kind], 1) != 1:
        return
    message = new_message(EXCESS if owner == LOOP else SHED, 0)
    if message == NULL:
        store(&shared.asked[kind], 0)
        return
    message.number = kind
    if owner == LOOP:
        push(&shared.to_control, message)
    else:
        add(&shared.reactors[owner].messages_sent, 1)
        push(&shared.reactors[owner].inbox, message)


cdef void relieve(Reactor *reactor, int kind) noexcept nogil:
    """Close this reactor's largest as long as it is the largest of all, or as a limit is passed by an eighth."""
    cdef Shared *shared = reactor.shared
    cdef int owner
    for _ in range(CLOSED_AT_ONCE_MAX):
        owner = who_is_to_close(shared, kind)
        if owner == NOBODY:
            return
        if owner != reactor.number and excess(shared, kind) <= shared.limits.held_bytes_max[kind] // 8:
            ask_to_close(shared, kind, owner)
            return
        if reactor.holders[kind].count == 0:
            ask_to_close(shared, kind, owner)
            return
        close_connection(reactor, reactor.holders[kind].heap[0].connection,
                         TOO_MUCH_UNFINISHED if kind == INPUT else TOO_MUCH_UNSENT_IN_ALL)

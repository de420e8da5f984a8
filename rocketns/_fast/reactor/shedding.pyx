"""Over the limit for all connections together, the connection that holds the most is closed, whoever has it.

Each reactor and control's loop publish how many bytes their largest connection holds. The thread that notices the
excess closes its own largest connection if that is the largest of all. Otherwise it asks the owner of the largest. The
owner compares again before it closes: the published numbers may have changed, and too many connections must not go.
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
from rocketns._fast.reactor.reactor_state cimport assert_reactor, send_message

cdef enum:
    CLOSED_AT_ONCE_MAX = 16  # the next turn goes on where that is not enough


cdef inline int64_t excess(Shared *shared, int kind) noexcept nogil:
    """Any thread. Bytes over the limit; not positive where there are none."""
    return load(&shared.held_bytes[kind]) - shared.limits.held_bytes_max[kind]


cdef int who_is_to_close(Shared *shared, int kind) noexcept nogil:
    """Any thread. The number of the reactor whose largest connection is the largest of all; LOOP or NOBODY."""
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
    """Any thread. Send one request; further ones are dropped until the owner has begun.

    The owner clears `asked` before it looks at its heap. A thread that notices an excess after that asks again, and one
    that noticed it before is served by the look that follows.
    """
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
        send_message(shared.reactors[owner], message)


cdef void relieve(Reactor *reactor, int kind) noexcept nogil:
    """Reactor thread only. Close this reactor's largest connection, and repeat while it is the largest of all.

    Over an excess of an eighth of the limit it need not be the largest of all.
    """
    assert_reactor(reactor, "relieve")
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

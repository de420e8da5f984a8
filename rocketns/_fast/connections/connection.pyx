"""The buffers of a connection. They exist only while something waits in them, so an idle connection costs its struct.

All functions are for the thread of the connection's reactor.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from rocketns._fast.system.assertions cimport assert_equal
from rocketns._fast.system.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, send

# An idle connection takes this, its close notice and, where lookups are counted by client, its address.
assert_equal(sizeof(Connection), 376)
assert_equal(sizeof(Message), 72)

cdef enum:
    OUTPUT_MIN = 16384
    SENT_AT_ONCE_MAX = 256 * 1024  # other connections wait for no more than this
    SMALL_INPUT_MAX = 4096


cdef bint keep_input(Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Keep ``data`` as the waiting input. False where there is no memory.

    ``data`` lies in the input buffer if there is one. It is not moved there, except that a small rest in a large buffer
    gets a buffer of its own.
    """
    cdef uint8_t *kept
    cdef size_t start
    if size == 0:
        drop_input(connection)
        return True
    if connection.input != NULL:
        start = <size_t>(data - connection.input)
        if start <= SMALL_INPUT_MAX or start // 4 <= size:
            connection.input_start, connection.input_size = start, size
            return True
    kept = <uint8_t *>malloc(size)
    if kept == NULL:
        return False
    memcpy(kept, data, size)
    free(connection.input)
    connection.input, connection.input_start, connection.input_size, connection.input_room = kept, 0, size, size
    return True


cdef bint make_input_room(Connection *connection, size_t wanted) noexcept nogil:
    """Reactor thread only. Move the input to the start of the buffer, and make room for ``wanted`` bytes in all."""
    cdef uint8_t *grown
    if connection.input_start:
        memmove(connection.input, connection.input + connection.input_start, connection.input_size)
        connection.input_start = 0
    if wanted <= connection.input_room:
        return True
    grown = <uint8_t *>realloc(connection.input, wanted)
    if grown == NULL:
        return False
    connection.input, connection.input_room = grown, wanted
    return True


cdef void drop_input(Connection *connection) noexcept nogil:
    """Reactor thread only."""
    free(connection.input)
    connection.input = NULL
    connection.input_start = connection.input_size = connection.input_room = 0


cdef uint8_t *output_space(Connection *connection, size_t size) noexcept nogil:
    """Reactor thread only. Room for ``size`` bytes at the end of the output; NULL if there is no memory."""
    cdef size_t waiting = unsent(connection), room
    cdef uint8_t *grown
    if connection.output_room - connection.output_end < size:
        if connection.output_start:
            memmove(connection.output, connection.output + connection.output_start, waiting)
            connection.output_start, connection.output_end = 0, waiting
        if connection.output_room - waiting < size:
            room = max(waiting + size, connection.output_room * 2, <size_t>OUTPUT_MIN)
            grown = <uint8_t *>realloc(connection.output, room)
            if grown == NULL:
                return NULL
            connection.output, connection.output_room = grown, room
    return connection.output + connection.output_end


cdef void drop_output(Connection *connection) noexcept nogil:
    """Reactor thread only."""
    free(connection.output)
    connection.output = NULL
    connection.output_start = connection.output_end = connection.output_room = 0


cdef bint send_output(Connection *connection) noexcept nogil:
    """Reactor thread only. Send what the peer takes, up to SENT_AT_ONCE_MAX; False where the connection failed."""
    cdef ssize_t sent
    cdef size_t left = min(unsent(connection), <size_t>SENT_AT_ONCE_MAX)
    while left:
        sent = send(connection.fd, connection.output + connection.output_start, left, MSG_NOSIGNAL | MSG_DONTWAIT)
        if sent < 0:
            if errno == EINTR:
                continue
            return errno == EAGAIN
        connection.output_start += <size_t>sent
        connection.moved[OUTPUT] += <uint32_t>sent
        left -= <size_t>sent
    if unsent(connection) == 0:
        drop_output(connection)
    return True

"""The buffers of a connection. They exist only while something waits in them: an idle connection costs 130 bytes."""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from rocketns._fast.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, send

cdef enum:
    OUTPUT_MIN = 16384


cdef bint keep_input(Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """What waits is ``data``, which may lie in the input buffer itself. False where there is no memory."""
    cdef uint8_t *kept
    if size == 0:
        drop_input(connection)
        return True
    if connection.input != NULL:
        memmove(connection.input, data, size)
    else:
        kept = <uint8_t *>malloc(size)
        if kept == NULL:
            return False
        memcpy(kept, data, size)
        connection.input, connection.input_room = kept, size
    connection.input_size = size
    return True


cdef bint make_input_room(Connection *connection, size_t wanted) noexcept nogil:
    """Room for ``wanted`` bytes of input in all."""
    cdef uint8_t *grown
    if wanted <= connection.input_room:
        return True
    grown = <uint8_t *>realloc(connection.input, wanted)
    if grown == NULL:
        return False
    connection.input, connection.input_room = grown, wanted
    return True


cdef void drop_input(Connection *connection) noexcept nogil:
    free(connection.input)
    connection.input = NULL
    connection.input_size = connection.input_room = 0


cdef uint8_t *output_space(Connection *connection, size_t size) noexcept nogil:
    """Where ``size`` bytes can be written behind the output; NULL where there is no memory."""
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
    free(connection.output)
    connection.output = NULL
    connection.output_start = connection.output_end = connection.output_room = 0


cdef bint send_output(Connection *connection) noexcept nogil:
    """Send what the peer takes; False where the connection failed."""
    cdef ssize_t sent
    while unsent(connection):
        sent = send(connection.fd, connection.output + connection.output_start, unsent(connection),
                    MSG_NOSIGNAL | MSG_DONTWAIT)
        if sent < 0:
            if errno == EINTR:
                continue
            return errno == EAGAIN
        connection.output_start += <size_t>sent
    drop_output(connection)
    return True

"""A connection's bytes: the buffers in which they wait, and their way from and to the socket.

Buffers exist only while something waits in them, so an idle connection costs its struct. Bytes go to the socket as they
are, or as records of TLS. What the socket does not take waits in the connection's output, as records. So a connection
with unsent answers is the same with and without TLS.

All functions are for the thread of the connection's reactor.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

from rocketns._fast.connections.hosts cimport INPUT, OUTPUT, TLS
from rocketns._fast.system.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, recv, send
from rocketns._fast.system.threads cimport assert_equal
from rocketns._fast.tls.openssl cimport seal

# An idle connection takes this and its address.
assert_equal(sizeof(Connection), 408)

cdef enum:
    OUTPUT_MIN = 16384
    SMALL_INPUT_MAX = 4096
    SENT_AT_ONCE_MAX = 256 * 1024  # other connections wait for no more than this


cdef bint make_room(Buffer *buffer, size_t room) noexcept nogil:
    """Reactor thread only. Move the bytes to the start, and make room for so many in all. False: there is no memory."""
    cdef uint8_t *grown
    if buffer.start:
        memmove(buffer.data, buffer.data + buffer.start, buffer.size)
        buffer.start = 0
    if room <= buffer.room:
        return True
    grown = <uint8_t *>realloc(buffer.data, room)
    if grown == NULL:
        return False
    buffer.data, buffer.room = grown, room
    return True


cdef bint append(Buffer *buffer, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Keep a copy behind what waits. False where there is no memory."""
    cdef size_t wanted = buffer.size + size
    if wanted > buffer.room:
        wanted = max(wanted, buffer.room * 2, <size_t>OUTPUT_MIN)
    if buffer.start + buffer.size + size > buffer.room and not make_room(buffer, wanted):
        return False
    memcpy(buffer.data + buffer.start + buffer.size, data, size)
    buffer.size += size
    return True


cdef bint keep(Buffer *buffer, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Let ``data`` be what waits. False where there is no memory.

    ``data`` lies in the buffer if there is one. It is not moved there, except that a small rest in a large buffer gets
    a buffer of its own.
    """
    cdef uint8_t *kept
    cdef size_t start
    if size == 0:
        drop(buffer)
        return True
    if buffer.data != NULL:
        start = <size_t>(data - buffer.data)
        if start <= SMALL_INPUT_MAX or start // 4 <= size:
            buffer.start, buffer.size = start, size
            return True
    kept = <uint8_t *>malloc(size)
    if kept == NULL:
        return False
    memcpy(kept, data, size)
    free(buffer.data)
    buffer.data, buffer.start, buffer.size, buffer.room = kept, 0, size, size
    return True


cdef void drop(Buffer *buffer) noexcept nogil:
    """Reactor thread only."""
    free(buffer.data)
    memset(buffer, 0, sizeof(Buffer))


cdef size_t send_some(Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. How much the peer takes, up to SENT_AT_ONCE_MAX. The connection may fail."""
    cdef size_t sent = 0, most = min(size, <size_t>SENT_AT_ONCE_MAX)
    cdef ssize_t taken
    while sent < most:
        taken = send(connection.fd, data + sent, most - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
        if taken >= 0:
            sent += <size_t>taken
        elif errno == EAGAIN:
            break
        elif errno != EINTR:
            connection.is_failed = True
            break
    connection.moved[OUTPUT] += <uint32_t>sent
    return sent


cdef void send_output(Connection *connection) noexcept nogil:
    """Reactor thread only. Send what waits, as much as the peer takes. The connection may fail."""
    cdef Buffer *output = &connection.output
    cdef size_t sent = send_some(connection, output.data + output.start, output.size)
    output.start += sent
    output.size -= sent
    if output.size == 0:
        drop(output)


cdef void send_bytes(Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send them as they are, behind what is unsent. The connection may fail."""
    cdef size_t sent = 0
    if connection.output.size == 0 and not connection.is_failed:
        sent = send_some(connection, data, size)
    if sent < size and not connection.is_failed:
        connection.is_failed = not append(&connection.output, data + sent, size - sent)


cdef void send_wire(Connection *connection, Wire *wire) noexcept nogil:
    """Reactor thread only. Send the records that OpenSSL wrote."""
    if wire.outgoing_size:
        send_bytes(connection, wire.outgoing, wire.outgoing_size)
        wire.outgoing_size = 0


cdef void send_answers(Connection *connection, Wire *wire, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send plain text, as records where the connection has TLS. The connection may fail."""
    cdef size_t part
    if connection.tls == NULL:
        send_bytes(connection, data, size)
        return
    while size and not connection.is_failed:
        part = min(size, <size_t>SEALED_AT_ONCE_MAX)
        if not seal(connection.tls, wire, data, part):
            connection.is_failed = True
        send_wire(connection, wire)
        data += part
        size -= part


cdef size_t receive_some(Connection *connection, uint8_t *into, size_t room, int64_t now_ms) noexcept nogil:
    """Reactor thread only. One `recv`: how many bytes came. The connection fails where its peer closed it, too."""
    cdef ssize_t got = recv(connection.fd, into, room, MSG_DONTWAIT)
    if got > 0:
        connection.active_ms = now_ms
        connection.moved[INPUT] += <uint32_t>got
        connection.moved[TLS] += <uint32_t>got
        return <size_t>got
    if got == 0:
        connection.is_failed, connection.ending = True, Ending.PEER_CLOSED
    elif errno != EAGAIN and errno != EINTR:
        connection.is_failed = True
    return 0

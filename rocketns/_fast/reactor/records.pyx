"""Bytes to a connection's socket, as they are or as records of TLS.

What the socket does not take waits in the connection's output, as records. So a connection with unsent answers is the
same with and without TLS. All functions are for the reactor's thread.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.string cimport memcpy

from rocketns._fast.connections.connection cimport output_space, unsent
from rocketns._fast.reactor.reactor_state cimport SEALED_AT_ONCE_MAX
from rocketns._fast.system.sockets cimport MSG_DONTWAIT, MSG_NOSIGNAL, send
from rocketns._fast.tls.openssl cimport openssl
from rocketns._fast.tls.wire cimport HAS_FAILED, IS_DONE, open_records, seal, seal_end


cdef void send_bytes(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send them as they are, behind what is unsent."""
    cdef size_t sent = 0
    cdef ssize_t taken
    cdef uint8_t *space
    while sent < size and unsent(connection) == 0 and not connection.is_failed:
        taken = send(connection.fd, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
        if taken >= 0:
            sent += <size_t>taken
        elif errno == EAGAIN:
            break
        elif errno != EINTR:
            connection.is_failed = True
    if sent < size and not connection.is_failed:
        space = output_space(connection, size - sent)
        if space == NULL:
            connection.is_failed = True
        else:
            memcpy(space, data + sent, size - sent)
            connection.output_end += size - sent


cdef void send_wire(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Send the records that OpenSSL wrote."""
    if reactor.wire.outgoing_size:
        send_bytes(reactor, connection, reactor.wire.outgoing, reactor.wire.outgoing_size)
        reactor.wire.outgoing_size = 0


cdef void send_answers(Reactor *reactor, Connection *connection, const uint8_t *data, size_t size) noexcept nogil:
    """Reactor thread only. Send plain text, as records where the connection has TLS."""
    cdef size_t part
    if connection.tls == NULL:
        send_bytes(reactor, connection, data, size)
        return
    while size and not connection.is_failed:
        part = min(size, <size_t>SEALED_AT_ONCE_MAX)
        if not seal(connection.tls, &reactor.wire, data, part):
            connection.is_failed = True
        send_wire(reactor, connection)
        data += part
        size -= part


cdef void send_end(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Say that nothing more comes, if the socket takes it at once."""
    if connection.tls != NULL:
        seal_end(connection.tls, &reactor.wire)
        send_wire(reactor, connection)


cdef size_t input_memory(const Connection *connection) noexcept nogil:
    """Reactor thread only. The memory of the waiting input; also that of a record in OpenSSL which is not whole."""
    cdef size_t size = connection.input_start + connection.input_size
    if connection.tls != NULL and openssl.SSL_has_pending(connection.tls):
        size += UNFINISHED_RECORD_MAX
    return size


cdef Progress open_received(
    Reactor *reactor, Connection *connection, size_t received, uint8_t *plain, size_t room, size_t *got
) noexcept nogil:
    """Reactor thread only. The plain text of so many bytes in `scratch_received`.

    ``room`` is at least UNFINISHED_RECORD_MAX larger than ``received``.
    """
    cdef Progress progress
    reactor.wire.incoming, reactor.wire.incoming_size = reactor.scratch_received, received
    progress = open_records(connection.tls, &reactor.wire, plain, room, got)
    send_wire(reactor, connection)  # a reply to what the records ask for, or an alert
    reactor.wire.incoming_size = 0
    if progress == IS_DONE:
        progress = HAS_FAILED  # more plain text than records: impossible
    if progress == HAS_FAILED:
        openssl.ERR_clear_error()
    return progress

"""TLS of one connection without its socket: records in, plain text out, and the other way round.

A turn receives once and sends once, however many records that is. OpenSSL's own BIO for sockets reads the five bytes of
a record's header, then the record, then finds nothing: three system calls for a lookup.

All of what was received is worked off by one `open_records`, provided that the buffer for plain text has room for as
many bytes and a record more. So no plain text waits inside of OpenSSL, where epoll knows nothing of it. Writing never
waits either: what the socket does not take stays in the connection's output, as records.

The error queue of a thread is empty before each call: who reads a reason empties it.
"""

from libc.limits cimport INT_MAX
from libc.string cimport memcpy

from rocketns._fast.tls.openssl cimport (
    BIO, BIO_CTRL_FLUSH, BIO_FLAGS_READ, BIO_FLAGS_SHOULD_RETRY, BIO_METHOD, BIO_TYPE_SOURCE_SINK, SSL_CTX,
    SSL_ERROR_WANT_READ, SSL_ERROR_ZERO_RETURN, openssl
)


cdef int wire_read(BIO *bio, char *data, int room) noexcept nogil:
    cdef Wire *wire = <Wire *>openssl.BIO_get_data(bio)
    cdef size_t size
    openssl.BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
    if room <= 0:
        return 0
    if wire == NULL or wire.incoming_size == 0:
        openssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return -1
    size = min(<size_t>room, wire.incoming_size)
    memcpy(data, wire.incoming, size)
    wire.incoming += size
    wire.incoming_size -= size
    return <int>size


cdef int wire_write(BIO *bio, const char *data, int size) noexcept nogil:
    """Writing more than there is room for is an error: the room was measured before."""
    cdef Wire *wire = <Wire *>openssl.BIO_get_data(bio)
    if size <= 0:
        return 0
    if wire == NULL or <size_t>size > wire.outgoing_room - wire.outgoing_size:
        return -1
    memcpy(wire.outgoing + wire.outgoing_size, data, <size_t>size)
    wire.outgoing_size += <size_t>size
    return size


cdef long wire_control(BIO *bio, int command, long number, void *pointer) noexcept nogil:
    return command == BIO_CTRL_FLUSH


cdef bint prepare_wire() noexcept:
    """Under the GIL, before the first `new_session`. False where there is no memory. It stays until the process ends."""
    cdef BIO_METHOD *method = openssl.wire
    if method == NULL:
        method = openssl.BIO_meth_new(openssl.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, b"rocketns")
        if method == NULL:
            return False
        openssl.BIO_meth_set_read(method, &wire_read)
        openssl.BIO_meth_set_write(method, &wire_write)
        openssl.BIO_meth_set_ctrl(method, &wire_control)
        openssl.wire = method
    return True


cdef SSL *new_session(void *context) noexcept nogil:
    """Any thread. The server's side of a new connection; NULL where there is no memory."""
    cdef SSL *ssl = openssl.SSL_new(<SSL_CTX *>context)
    cdef BIO *bio = openssl.BIO_new(openssl.wire) if ssl != NULL else NULL
    if bio == NULL:
        if ssl != NULL:
            openssl.SSL_free(ssl)
        openssl.ERR_clear_error()
        return NULL
    openssl.BIO_set_init(bio, 1)
    openssl.SSL_set_bio(ssl, bio, bio)  # both are one reference
    openssl.SSL_set_accept_state(ssl)
    return ssl


cdef Progress shake_hands(SSL *ssl, Wire *wire) noexcept nogil:
    """The connection's thread. Go on with the handshake by what was received.

    IS_DONE may leave some of it in ``wire``: the first records behind the handshake.
    """
    cdef int returned
    openssl.BIO_set_data(openssl.SSL_get_rbio(ssl), wire)
    returned = openssl.SSL_do_handshake(ssl)
    if returned == 1:
        return IS_DONE
    return WANTS_MORE if openssl.SSL_get_error(ssl, returned) == SSL_ERROR_WANT_READ else HAS_FAILED


cdef Progress open_records(SSL *ssl, Wire *wire, uint8_t *plain, size_t room, size_t *got) noexcept nogil:
    """The connection's thread. The plain text of all records that were received. ``got`` counts it."""
    cdef int returned, error
    got[0] = 0
    openssl.BIO_set_data(openssl.SSL_get_rbio(ssl), wire)
    while got[0] < room:
        returned = openssl.SSL_read(ssl, plain + got[0], <int>min(room - got[0], <size_t>INT_MAX))
        if returned > 0:
            got[0] += <size_t>returned
            if wire.incoming_size == 0 and openssl.SSL_pending(ssl) == 0:
                return WANTS_MORE  # as the next call would say, which costs more
            continue
        error = openssl.SSL_get_error(ssl, returned)
        if error == SSL_ERROR_WANT_READ:
            return WANTS_MORE
        return HAS_ENDED if error == SSL_ERROR_ZERO_RETURN else HAS_FAILED
    return IS_DONE


cdef bint seal(SSL *ssl, Wire *wire, const uint8_t *plain, size_t size) noexcept nogil:
    """The connection's thread. Append plain text as records: ``wire`` has room for them. False: it failed."""
    cdef int returned
    openssl.BIO_set_data(openssl.SSL_get_rbio(ssl), wire)
    while size:
        returned = openssl.SSL_write(ssl, plain, <int>min(size, <size_t>INT_MAX))
        if returned <= 0:
            openssl.ERR_clear_error()
            return False
        plain += returned
        size -= <size_t>returned
    return True


cdef void seal_end(SSL *ssl, Wire *wire) noexcept nogil:
    """The connection's thread. Append close_notify, unless the connection failed or its handshake is not over."""
    openssl.BIO_set_data(openssl.SSL_get_rbio(ssl), wire)
    openssl.SSL_shutdown(ssl)
    openssl.ERR_clear_error()

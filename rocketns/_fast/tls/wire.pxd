"""The bytes of one connection from and for its socket, as OpenSSL sees them: a BIO over two buffers of a thread."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

from rocketns._fast.tls.openssl cimport SSL

cdef enum:
    RECORD_BYTES_MAX = 16384  # of plain text

# A thread has one Wire for all its connections. Between two calls nothing is in it.
cdef struct Wire:
    const uint8_t *incoming
    size_t incoming_size
    uint8_t *outgoing
    size_t outgoing_size
    size_t outgoing_room

# What `open_records` and `shake_hands` found.
cdef enum Progress:
    WANTS_MORE = 0  # the peer has to send more
    IS_DONE = 1  # the handshake is over, or the buffer for plain text is full
    HAS_ENDED = 2  # the peer sent close_notify
    HAS_FAILED = 3  # `openssl.take_reason` says why

cdef bint prepare_wire() noexcept
cdef SSL *new_session(void *context) noexcept nogil
cdef Progress shake_hands(SSL *ssl, Wire *wire) noexcept nogil
cdef Progress open_records(SSL *ssl, Wire *wire, uint8_t *plain, size_t room, size_t *got) noexcept nogil
cdef bint seal(SSL *ssl, Wire *wire, const uint8_t *plain, size_t size) noexcept nogil
cdef void seal_end(SSL *ssl, Wire *wire) noexcept nogil

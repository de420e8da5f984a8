"""The TLS of one connection of a reactor, without socket and reactor: records in, plain text out, and back."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from rocketns._fast.tls.openssl cimport (
    HAS_ENDED, HAS_FAILED, IS_DONE, SSL, Progress, ServerContext, Wire, new_session, open_records, openssl, seal,
    seal_end, shake_hands
)

cdef enum:
    ROOM = 1 << 20


cdef class Stream:
    """``ended`` is the reason why no more plain text will come; None while it may."""

    cdef SSL *ssl
    cdef Wire wire
    cdef readonly bint is_handshaken
    cdef readonly object ended
    cdef ServerContext context

    def __cinit__(self, ServerContext context not None):
        self.context = context
        self.ssl = new_session(context.context)
        self.wire.outgoing, self.wire.outgoing_room = <uint8_t *>malloc(ROOM), ROOM
        if self.ssl == NULL or self.wire.outgoing == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.ssl != NULL:
            openssl.SSL_free(self.ssl)
        free(self.wire.outgoing)

    cdef void note(self, Progress progress):
        if progress == HAS_ENDED:
            self.ended = "the peer ended TLS"
        elif progress == HAS_FAILED:
            self.ended = f"TLS failed: {self.wire.reason.decode()}"

    def receive(self, bytes data not None):
        """The plain text that arrived. Send `outgoing` afterwards."""
        cdef bytearray plain = bytearray(len(data) + 65536)
        cdef size_t got = 0
        cdef Progress progress
        if self.ended is not None:
            return b""
        self.wire.incoming, self.wire.incoming_size = <const uint8_t *>data, <size_t>len(data)
        if not self.is_handshaken:
            progress = shake_hands(self.ssl, &self.wire)
            self.is_handshaken = progress == IS_DONE
            self.note(progress)
        if self.is_handshaken:
            self.note(open_records(self.ssl, &self.wire, <uint8_t *>plain, <size_t>len(plain), &got))
        assert self.ended is not None or self.wire.incoming_size == 0
        self.wire.incoming_size = 0
        return bytes(plain[:got])

    def send(self, bytes data not None):
        """The records of plain text."""
        assert 2 * <size_t>len(data) + 4096 <= ROOM - self.wire.outgoing_size
        if not seal(self.ssl, &self.wire, <const uint8_t *>data, <size_t>len(data)):
            raise ConnectionError("TLS failed")
        return self.outgoing()

    def end(self):
        """The close_notify alert, unless the connection failed or its handshake is not over."""
        seal_end(self.ssl, &self.wire)
        return self.outgoing()

    def outgoing(self):
        """The bytes that TLS has to send."""
        cdef bytes made = self.wire.outgoing[:self.wire.outgoing_size]
        self.wire.outgoing_size = 0
        return made

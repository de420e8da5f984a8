"""The system's OpenSSL: its functions, the context of a server, and TLS of one connection without its socket.

Nothing is left to the system's openssl.cnf, which OpenSSL may have applied: each setting that it can change is set.

Records go in and plain text comes out, and the other way round. A turn receives once, and sends once for 64 KiB of
answers, however many records that is. OpenSSL's own BIO for sockets reads the five bytes of a record's header, then the
record, then finds nothing: three system calls for a lookup.

All of what was received is worked off by one `open_records`, provided that the buffer for plain text has room for as
many bytes and a record more. So no plain text waits inside of OpenSSL, where epoll knows nothing of it. Writing never
waits either: what the socket does not take stays in the connection's output, as records.

The error queue of a thread is empty before each call: who reads a reason empties it.
"""

from libc.limits cimport INT_MAX
from libc.string cimport memcpy

from posix.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlopen, dlsym

cdef extern from * nogil:
    """
    #include <dlfcn.h>
    /* Some builds of Python contain another OpenSSL, whose functions would otherwise be found first. The address
       sanitizer does not work with RTLD_DEEPBIND. */
    #if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    #define ROCKETNS_DEEPBIND RTLD_DEEPBIND
    #else
    #define ROCKETNS_DEEPBIND 0
    #endif
    """
    const int ROCKETNS_DEEPBIND

OLDEST = 0x10101000  # 1.1.1, the first with TLS 1.3
LIBRARIES = ("libssl.so.3", "libssl.so.4", "libssl.so.1.1")
# The fields of `OpenSSL` that are functions, in their order: they are its last ones.
FUNCTIONS = """
TLS_server_method SSL_CTX_new SSL_CTX_free SSL_CTX_up_ref SSL_CTX_ctrl SSL_CTX_set_options SSL_CTX_clear_options
SSL_CTX_set_session_id_context SSL_CTX_set_verify SSL_CTX_load_verify_locations SSL_CTX_set_default_verify_paths
SSL_CTX_use_certificate SSL_CTX_use_PrivateKey SSL_CTX_check_private_key SSL_CTX_set_cipher_list
SSL_CTX_set_ciphersuites SSL_CTX_set_security_level SSL_new SSL_free SSL_set_bio SSL_get_rbio SSL_set_accept_state
SSL_do_handshake SSL_read SSL_write SSL_pending SSL_has_pending SSL_shutdown SSL_get_error SSL_get_cipher_list
SSL_get1_peer_certificate OpenSSL_version_num OpenSSL_version BIO_meth_new BIO_meth_set_read BIO_meth_set_write
BIO_meth_set_ctrl BIO_get_new_index BIO_new BIO_set_init BIO_set_data BIO_get_data BIO_number_read BIO_number_written
BIO_set_flags BIO_clear_flags ERR_peek_last_error ERR_reason_error_string ERR_clear_error d2i_X509 i2d_X509 X509_free
d2i_AutoPrivateKey EVP_PKEY_free
""".split()

cdef const char *UNKNOWN_REASON = b"unknown reason"
cdef const char *LARGE_HELLO = b"a hello of more than 16 KiB"
cdef const char *TOO_LITTLE_DATA = b"more than 64 records without data at once"


def load():
    """Fill `openssl`, its version last. ImportError, in one sentence, where that is not possible.

    The standard library's ssl is imported before: two copies of libcrypto in a process would be one too many. A library
    of the same name that it has loaded is taken.
    """
    cdef void *library = NULL
    cdef void **fields = <void **>(&openssl + 1) - len(FUNCTIONS)
    if openssl.version:
        return
    try:
        import ssl
        names = sorted(LIBRARIES, key=lambda name: not name.endswith(f".{ssl.OPENSSL_VERSION_INFO[0]}"))
    except ImportError:
        names = LIBRARIES
    for name in names:
        library = dlopen(name.encode(), RTLD_NOW | RTLD_LOCAL | ROCKETNS_DEEPBIND)
        if library != NULL:
            break
    if library == NULL:
        raise ImportError(f"OpenSSL is not installed: none of {', '.join(LIBRARIES)} can be loaded")
    for index, name in enumerate(FUNCTIONS):
        fields[index] = find(library, name)
    version = openssl.OpenSSL_version_num()
    if version < OLDEST:
        raise ImportError(f"{openssl.OpenSSL_version(0).decode()} is too old: 1.1.1 or newer is needed")
    openssl.wire = openssl.BIO_meth_new(openssl.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, b"rocketns")
    if openssl.wire == NULL:
        raise MemoryError
    openssl.BIO_meth_set_read(openssl.wire, &wire_read)
    openssl.BIO_meth_set_write(openssl.wire, &wire_write)
    openssl.BIO_meth_set_ctrl(openssl.wire, &wire_control)
    openssl.version = version


cdef void *find(void *library, str name) except NULL:
    cdef void *found = dlsym(library, name.encode())
    if found == NULL:
        found = dlsym(library, name.replace("SSL_get1_", "SSL_get_").encode())  # before OpenSSL 3
    if found == NULL:
        raise ImportError(f"the OpenSSL that was loaded has no function {name}")
    return found


cdef const char *pop_reason() noexcept nogil:
    """Any thread. Why the last call of this thread failed, and an empty error queue for the next one."""
    cdef const char *reason = openssl.ERR_reason_error_string(openssl.ERR_peek_last_error())
    openssl.ERR_clear_error()
    return UNKNOWN_REASON if reason == NULL else reason


cdef enum:
    SESSION_ID_BYTES = 8
    CERTIFICATES_BYTES_MAX = 32 * 1024  # of a peer's chain, as in Java (jdk.tls.maxHandshakeMessageSize)
    # OpenSSL compares each key of a hello with each group: 62 KB took 65 ms. A browser's has less than 2 KB.
    HELLO_BYTES_MAX = 16 * 1024
    # OpenSSL reads twice for a record. One that asks for other keys costs as much as twenty with data.
    READS_WITHOUT_DATA_MAX = 2 * 64
    SECURITY_LEVEL = 2  # keys of RSA from 2,048 bits on; OpenSSL's own choice since 3.2

# Bits of OpenSSL's options.
cdef uint64_t ALLOW_CLIENT_RENEGOTIATION = 1 << 8
cdef uint64_t NO_TICKET = 1 << 14
cdef uint64_t NO_COMPRESSION = 1 << 17
cdef uint64_t ALLOW_UNSAFE_RENEGOTIATION = 1 << 18
cdef uint64_t CIPHER_SERVER_PREFERENCE = 1 << 22
cdef uint64_t NO_VERSIONS = 0x3E << 24  # TLS 1.0 is bit 26, 1.1 28, 1.2 27, 1.3 29; SSL 3 is 25
cdef uint64_t NO_RENEGOTIATION = 1 << 30

DEFAULT_OLDER = "DEFAULT"
DEFAULT_MODERN = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"
cdef const unsigned char *SESSION_ID = b"rocketns"


cdef int trust(int is_valid, void *store) noexcept nogil:
    """A verification callback that takes every certificate. Compiled, so it needs no memory that is made executable."""
    return 1


cdef int check(bint is_done, str part) except -1:
    if not is_done:
        raise ValueError(f"{part}: {pop_reason().decode('ascii', 'replace')}")
    return 0


cdef class ServerContext:
    def __cinit__(
        self, *, certificates, bytes key not None, versions, uint64_t without, str older not None,
        str modern not None, bint asks, bint requires, bint trusts_any, trusted, bint verifies_peers,
    ):
        load()
        self.context = openssl.SSL_CTX_new(openssl.TLS_server_method())
        check(self.context != NULL, "context")
        self.verifies_peers = verifies_peers
        # Peers keep their sessions themselves, as tickets: one in this process may hold a chain of 100 KB.
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL)
        openssl.SSL_CTX_set_session_id_context(self.context, SESSION_ID, SESSION_ID_BYTES)
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL)  # most are idle
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MAX_CERT_LIST, CERTIFICATES_BYTES_MAX, NULL)
        openssl.SSL_CTX_set_security_level(self.context, SECURITY_LEVEL)
        use_versions(self.context, versions[0], versions[1], without)
        check(openssl.SSL_CTX_set_cipher_list(self.context, (older or DEFAULT_OLDER).encode()), "ciphers")
        check(openssl.SSL_CTX_set_ciphersuites(self.context, (modern or DEFAULT_MODERN).encode()), "ciphers")
        for index, certificate in enumerate(certificates):
            use_certificate(self.context, certificate, index == 0)
        use_key(self.context, key)
        verify(self.context, asks, requires, trusts_any, trusted)

    def __dealloc__(self):
        if self.context != NULL:
            openssl.SSL_CTX_free(self.context)

    def suites(self):
        cdef SSL *ssl = openssl.SSL_new(self.context)
        cdef const char *name
        if ssl == NULL:
            raise MemoryError
        found = []
        try:
            while True:
                name = openssl.SSL_get_cipher_list(ssl, len(found))
                if name == NULL:
                    return found
                found.append(name.decode())
        finally:
            openssl.SSL_free(ssl)


cdef int use_versions(SSL_CTX *context, long lowest, long highest, uint64_t without) except -1:
    openssl.SSL_CTX_clear_options(
        context, NO_VERSIONS | NO_TICKET | ALLOW_UNSAFE_RENEGOTIATION | ALLOW_CLIENT_RENEGOTIATION
    )
    openssl.SSL_CTX_set_options(
        context, without | CIPHER_SERVER_PREFERENCE | NO_RENEGOTIATION | NO_COMPRESSION
    )
    check(openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, lowest, NULL), "versions")
    return check(openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, highest, NULL), "versions")


cdef int use_certificate(SSL_CTX *context, bytes der, bint is_own) except -1:
    cdef const unsigned char *data = der
    cdef X509 *certificate = openssl.d2i_X509(NULL, &data, len(der))
    cdef long is_used
    check(certificate != NULL, "certificate")
    if is_own:
        is_used = openssl.SSL_CTX_use_certificate(context, certificate)
    else:
        is_used = openssl.SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, certificate)
    if is_own or not is_used:  # a certificate of the chain belongs to the context from here on
        openssl.X509_free(certificate)
    return check(is_used, "certificate")


cdef int use_key(SSL_CTX *context, bytes der) except -1:
    cdef const unsigned char *data = der
    cdef EVP_PKEY *key = openssl.d2i_AutoPrivateKey(NULL, &data, len(der))
    cdef int is_used
    check(key != NULL, "key")
    is_used = openssl.SSL_CTX_use_PrivateKey(context, key)
    openssl.EVP_PKEY_free(key)
    return check(is_used and openssl.SSL_CTX_check_private_key(context), "key")


cdef int verify(SSL_CTX *context, bint asks, bint requires, bint trusts_any, trusted) except -1:
    cdef int mode = SSL_VERIFY_PEER if asks else SSL_VERIFY_NONE
    cdef Verify callback = &trust if trusts_any else NULL
    cdef bytes path
    if requires:
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    if not trusts_any and trusted is not None:
        path = trusted.encode("utf-8", "surrogateescape")
        check(openssl.SSL_CTX_load_verify_locations(context, path, NULL), "trust")
    elif not trusts_any:
        openssl.SSL_CTX_set_default_verify_paths(context)
        openssl.ERR_clear_error()
    openssl.SSL_CTX_set_verify(context, mode, callback)
    return 0


cdef int wire_read(BIO *bio, char *data, int room) noexcept nogil:
    """No more than `reads_left`: it is an error then, and ends the connection."""
    cdef Wire *wire = <Wire *>openssl.BIO_get_data(bio)
    cdef size_t size
    openssl.BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
    if room <= 0:
        return 0
    if wire == NULL or wire.incoming_size == 0:
        openssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return -1
    if wire.reads_left == 0:
        return -1
    wire.reads_left -= 1
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
    cdef BIO *bio = openssl.SSL_get_rbio(ssl)
    if openssl.BIO_number_written(bio) == 0 and (
        openssl.BIO_number_read(bio) + wire.incoming_size > HELLO_BYTES_MAX
    ):
        wire.reason = LARGE_HELLO
        return HAS_FAILED
    openssl.BIO_set_data(bio, wire)
    wire.reads_left = INT_MAX
    returned = openssl.SSL_do_handshake(ssl)
    if returned == 1:
        return IS_DONE
    if openssl.SSL_get_error(ssl, returned) == SSL_ERROR_WANT_READ:
        return WANTS_MORE
    wire.reason = pop_reason()
    return HAS_FAILED


cdef Progress open_records(SSL *ssl, Wire *wire, uint8_t *plain, size_t room, size_t *got) noexcept nogil:
    """The connection's thread. The plain text of all records that were received. ``got`` counts it.

    It fails where many of them have none: each costs others time, and a peer needs few.
    """
    cdef int returned, error
    got[0], wire.reads_left = 0, READS_WITHOUT_DATA_MAX
    openssl.BIO_set_data(openssl.SSL_get_rbio(ssl), wire)
    while got[0] < room:
        returned = openssl.SSL_read(ssl, plain + got[0], <int>min(room - got[0], <size_t>INT_MAX))
        if returned > 0:
            got[0] += <size_t>returned
            wire.reads_left += 2
            if wire.incoming_size == 0 and openssl.SSL_pending(ssl) == 0:
                return WANTS_MORE  # as the next call would say, which costs more
            continue
        error = openssl.SSL_get_error(ssl, returned)
        if error == SSL_ERROR_WANT_READ:
            return WANTS_MORE
        if error == SSL_ERROR_ZERO_RETURN:
            return HAS_ENDED
        wire.reason = pop_reason() if wire.reads_left else TOO_LITTLE_DATA
        return HAS_FAILED
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

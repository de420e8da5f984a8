"""OpenSSL's context of a server: certificate, key, versions, suites, and which client certificates it takes.

Nothing is left to the system's openssl.cnf, which OpenSSL may have applied: each setting that it can change is set.
"""

from libc.stdint cimport uint64_t

from rocketns._fast.tls.openssl cimport (
    EVP_PKEY, SSL, SSL_CTX, SSL_CTRL_EXTRA_CHAIN_CERT, SSL_CTRL_MODE, SSL_CTRL_SET_MAX_CERT_LIST,
    SSL_CTRL_SET_MAX_PROTO_VERSION, SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_MODE_RELEASE_BUFFERS, SSL_SESS_CACHE_OFF,
    SSL_VERIFY_FAIL_IF_NO_PEER_CERT, SSL_VERIFY_NONE, SSL_VERIFY_PEER, X509, Verify, openssl, take_reason
)
from rocketns._fast.tls.openssl import load
from rocketns._fast.tls.wire cimport prepare_wire

cdef enum:
    SESSION_ID_BYTES = 8
    CERTIFICATES_BYTES_MAX = 32 * 1024  # of a peer's chain, as in Java (jdk.tls.maxHandshakeMessageSize)
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


cdef object failure(str part):
    return ValueError(f"{part}: {take_reason().decode('ascii', 'replace')}")


cdef class ServerContext:
    def __cinit__(
        self, *, certificates, bytes key not None, versions, uint64_t without, str older not None,
        str modern not None, bint asks, bint requires, bint trusts_any, trusted, bint verifies_peers,
    ):
        load()
        if not prepare_wire():
            raise MemoryError
        self.context = openssl.SSL_CTX_new(openssl.TLS_server_method())
        if self.context == NULL:
            raise failure("context")
        self.verifies_peers = verifies_peers
        # Peers keep their sessions themselves, as tickets: one in this process may hold a chain of 100 KB.
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL)
        openssl.SSL_CTX_set_session_id_context(self.context, SESSION_ID, SESSION_ID_BYTES)
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL)  # most are idle
        openssl.SSL_CTX_ctrl(self.context, SSL_CTRL_SET_MAX_CERT_LIST, CERTIFICATES_BYTES_MAX, NULL)
        openssl.SSL_CTX_set_security_level(self.context, SECURITY_LEVEL)
        use_versions(self.context, versions[0], versions[1], without)
        use_suites(self.context, older, modern)
        for place, certificate in enumerate(certificates):
            use_certificate(self.context, certificate, place == 0)
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
    if not (openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, lowest, NULL)
            and openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, highest, NULL)):
        raise failure("versions")
    return 0


cdef int use_suites(SSL_CTX *context, str older, str modern) except -1:
    if not openssl.SSL_CTX_set_cipher_list(context, (older or DEFAULT_OLDER).encode()):
        raise failure("ciphers")
    if not openssl.SSL_CTX_set_ciphersuites(context, (modern or DEFAULT_MODERN).encode()):
        raise failure("ciphers")
    return 0


cdef int use_certificate(SSL_CTX *context, bytes der, bint is_own) except -1:
    cdef const unsigned char *data = der
    cdef X509 *certificate = openssl.d2i_X509(NULL, &data, len(der))
    cdef long is_used = 0
    if certificate == NULL:
        raise failure("certificate")
    if is_own:
        is_used = openssl.SSL_CTX_use_certificate(context, certificate)
    else:
        is_used = openssl.SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, certificate)
    if is_own or not is_used:  # a certificate of the chain belongs to the context from here on
        openssl.X509_free(certificate)
    if not is_used:
        raise failure("certificate")
    return 0


cdef int use_key(SSL_CTX *context, bytes der) except -1:
    cdef const unsigned char *data = der
    cdef EVP_PKEY *key = openssl.d2i_AutoPrivateKey(NULL, &data, len(der))
    cdef int is_used = 0
    if key == NULL:
        raise failure("key")
    is_used = openssl.SSL_CTX_use_PrivateKey(context, key)
    openssl.EVP_PKEY_free(key)
    if not is_used or not openssl.SSL_CTX_check_private_key(context):
        raise failure("key")
    return 0


cdef int verify(SSL_CTX *context, bint asks, bint requires, bint trusts_any, trusted) except -1:
    cdef int mode = SSL_VERIFY_PEER if asks else SSL_VERIFY_NONE
    cdef Verify callback = &trust if trusts_any else NULL
    cdef bytes path
    if requires:
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    if not trusts_any and trusted is not None:
        path = trusted.encode("utf-8", "surrogateescape")
        if not openssl.SSL_CTX_load_verify_locations(context, path, NULL):
            raise failure("trust")
    elif not trusts_any:
        openssl.SSL_CTX_set_default_verify_paths(context)
        openssl.ERR_clear_error()
    openssl.SSL_CTX_set_verify(context, mode, callback)
    return 0

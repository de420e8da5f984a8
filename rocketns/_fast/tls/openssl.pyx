"""Finds the system's OpenSSL and the functions in it, and makes the context of a server.

Nothing is left to the system's openssl.cnf, which OpenSSL may have applied: each setting that it can change is set.
"""

from rocketns._fast.tls.wire cimport prepare_wire

cdef extern from "<dlfcn.h>" nogil:
    void *dlopen(const char *name, int flags)
    void *dlsym(void *library, const char *name)
    const int RTLD_NOW, RTLD_LOCAL

cdef extern from * nogil:
    """
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
TLS_server_method SSL_CTX_new SSL_CTX_free SSL_CTX_up_ref SSL_CTX_ctrl SSL_CTX_set_options
SSL_CTX_clear_options SSL_CTX_set_session_id_context SSL_CTX_set_verify SSL_CTX_load_verify_locations
SSL_CTX_set_default_verify_paths SSL_CTX_use_certificate SSL_CTX_use_PrivateKey SSL_CTX_check_private_key
SSL_CTX_set_cipher_list SSL_CTX_set_ciphersuites SSL_CTX_set_security_level SSL_new SSL_free SSL_set_bio
SSL_get_rbio SSL_set_accept_state SSL_do_handshake SSL_read SSL_write SSL_pending SSL_has_pending SSL_shutdown SSL_get_error
SSL_get_cipher_list SSL_get1_peer_certificate OpenSSL_version_num OpenSSL_version BIO_meth_new
BIO_meth_set_read BIO_meth_set_write BIO_meth_set_ctrl BIO_get_new_index BIO_new BIO_set_init BIO_set_data
BIO_get_data BIO_set_flags BIO_clear_flags ERR_peek_last_error ERR_reason_error_string ERR_clear_error
d2i_X509 i2d_X509 X509_free d2i_AutoPrivateKey EVP_PKEY_free
""".split()
# Functions that another version has under another name.
FORMER = {"SSL_get1_peer_certificate": "SSL_get_peer_certificate"}

cdef const char *UNKNOWN_REASON = b"unknown reason"


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
    for place, name in enumerate(FUNCTIONS):
        fields[place] = find(library, name)
    version = openssl.OpenSSL_version_num()
    if version < OLDEST:
        raise ImportError(f"{openssl.OpenSSL_version(0).decode()} is too old: 1.1.1 or newer is needed")
    openssl.version = version


cdef void *find(void *library, str name) except NULL:
    cdef void *found = dlsym(library, name.encode())
    if found == NULL and name in FORMER:
        found = dlsym(library, FORMER[name].encode())
    if found == NULL:
        raise ImportError(f"the OpenSSL that was loaded has no function {name}")
    return found


cdef const char *take_reason() noexcept nogil:
    """Any thread. Why the last call of this thread failed, and an empty error queue for the next one."""
    cdef const char *reason = openssl.ERR_reason_error_string(openssl.ERR_peek_last_error())
    openssl.ERR_clear_error()
    return UNKNOWN_REASON if reason == NULL else reason


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

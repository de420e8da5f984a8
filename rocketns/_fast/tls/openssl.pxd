"""The functions of OpenSSL that the server calls, found at run time.

Nothing is linked: docs/security.md says why. `openssl` is filled by `openssl.load`, once, under the GIL, before any
thread without it uses a function. Types are opaque, since their layouts belong to OpenSSL. So any version from 1.1.1 on
fits. What newer versions renamed is looked for under both names.

A connection's bytes from and for its socket, as OpenSSL sees them, are a BIO over two buffers of a thread.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t, uint8_t

cdef extern from * nogil:
    """
    struct ssl_st; struct ssl_ctx_st; struct ssl_method_st; struct bio_st; struct bio_method_st; struct x509_st;
    struct evp_pkey_st;
    """
    ctypedef struct SSL "struct ssl_st":
        pass
    ctypedef struct SSL_CTX "struct ssl_ctx_st":
        pass
    ctypedef struct SSL_METHOD "struct ssl_method_st":
        pass
    ctypedef struct BIO "struct bio_st":
        pass
    ctypedef struct BIO_METHOD "struct bio_method_st":
        pass
    ctypedef struct X509 "struct x509_st":
        pass
    ctypedef struct EVP_PKEY "struct evp_pkey_st":
        pass

ctypedef int (*Verify)(int is_valid, void *store) noexcept nogil

# Values of OpenSSL's macros. They are part of its ABI.
cdef enum:
    SSL_ERROR_WANT_READ = 2
    SSL_ERROR_ZERO_RETURN = 6
    SSL_VERIFY_NONE = 0
    SSL_VERIFY_PEER = 1
    SSL_VERIFY_FAIL_IF_NO_PEER_CERT = 2
    SSL_CTRL_EXTRA_CHAIN_CERT = 14
    SSL_CTRL_MODE = 33
    SSL_CTRL_SET_SESS_CACHE_MODE = 44
    SSL_CTRL_SET_MAX_CERT_LIST = 51
    SSL_CTRL_SET_MIN_PROTO_VERSION = 123
    SSL_CTRL_SET_MAX_PROTO_VERSION = 124
    SSL_SESS_CACHE_OFF = 0
    SSL_MODE_RELEASE_BUFFERS = 16
    BIO_CTRL_FLUSH = 11
    BIO_FLAGS_READ = 1
    BIO_FLAGS_SHOULD_RETRY = 8
    BIO_TYPE_SOURCE_SINK = 0x400

cdef struct OpenSSL:
    unsigned long version
    BIO_METHOD *wire  # how connections reach the bytes from and for their sockets
    # Of libssl, as `FUNCTIONS` of openssl.pyx names them.
    const SSL_METHOD *(*TLS_server_method)() noexcept nogil
    SSL_CTX *(*SSL_CTX_new)(const SSL_METHOD *method) noexcept nogil
    void (*SSL_CTX_free)(SSL_CTX *context) noexcept nogil
    int (*SSL_CTX_up_ref)(SSL_CTX *context) noexcept nogil
    long (*SSL_CTX_ctrl)(SSL_CTX *context, int command, long number, void *pointer) noexcept nogil
    uint64_t (*SSL_CTX_set_options)(SSL_CTX *context, uint64_t options) noexcept nogil
    uint64_t (*SSL_CTX_clear_options)(SSL_CTX *context, uint64_t options) noexcept nogil
    int (*SSL_CTX_set_session_id_context)(SSL_CTX *context, const unsigned char *id, unsigned int size) noexcept nogil
    void (*SSL_CTX_set_verify)(SSL_CTX *context, int mode, Verify callback) noexcept nogil
    int (*SSL_CTX_load_verify_locations)(SSL_CTX *context, const char *file, const char *folder) noexcept nogil
    int (*SSL_CTX_set_default_verify_paths)(SSL_CTX *context) noexcept nogil
    int (*SSL_CTX_use_certificate)(SSL_CTX *context, X509 *certificate) noexcept nogil
    int (*SSL_CTX_use_PrivateKey)(SSL_CTX *context, EVP_PKEY *key) noexcept nogil
    int (*SSL_CTX_check_private_key)(const SSL_CTX *context) noexcept nogil
    int (*SSL_CTX_set_cipher_list)(SSL_CTX *context, const char *names) noexcept nogil
    int (*SSL_CTX_set_ciphersuites)(SSL_CTX *context, const char *names) noexcept nogil
    void (*SSL_CTX_set_security_level)(SSL_CTX *context, int level) noexcept nogil
    SSL *(*SSL_new)(SSL_CTX *context) noexcept nogil
    void (*SSL_free)(SSL *ssl) noexcept nogil
    void (*SSL_set_bio)(SSL *ssl, BIO *read, BIO *write) noexcept nogil
    BIO *(*SSL_get_rbio)(const SSL *ssl) noexcept nogil
    void (*SSL_set_accept_state)(SSL *ssl) noexcept nogil
    int (*SSL_do_handshake)(SSL *ssl) noexcept nogil
    int (*SSL_read)(SSL *ssl, void *data, int room) noexcept nogil
    int (*SSL_write)(SSL *ssl, const void *data, int size) noexcept nogil
    int (*SSL_pending)(const SSL *ssl) noexcept nogil
    int (*SSL_has_pending)(const SSL *ssl) noexcept nogil
    int (*SSL_shutdown)(SSL *ssl) noexcept nogil
    int (*SSL_get_error)(const SSL *ssl, int returned) noexcept nogil
    const char *(*SSL_get_cipher_list)(const SSL *ssl, int index) noexcept nogil
    X509 *(*SSL_get1_peer_certificate)(const SSL *ssl) noexcept nogil
    # libcrypto
    unsigned long (*OpenSSL_version_num)() noexcept nogil
    const char *(*OpenSSL_version)(int kind) noexcept nogil
    BIO_METHOD *(*BIO_meth_new)(int kind, const char *name) noexcept nogil
    int (*BIO_meth_set_read)(BIO_METHOD *method, int (*read)(BIO *, char *, int) noexcept nogil) noexcept nogil
    int (*BIO_meth_set_write)(BIO_METHOD *method, int (*write)(BIO *, const char *, int) noexcept nogil) noexcept nogil
    int (*BIO_meth_set_ctrl)(BIO_METHOD *method, long (*ctrl)(BIO *, int, long, void *) noexcept nogil) noexcept nogil
    int (*BIO_get_new_index)() noexcept nogil
    BIO *(*BIO_new)(const BIO_METHOD *method) noexcept nogil
    void (*BIO_set_init)(BIO *bio, int is_ready) noexcept nogil
    void (*BIO_set_data)(BIO *bio, void *data) noexcept nogil
    void *(*BIO_get_data)(BIO *bio) noexcept nogil
    uint64_t (*BIO_number_read)(BIO *bio) noexcept nogil
    uint64_t (*BIO_number_written)(BIO *bio) noexcept nogil
    void (*BIO_set_flags)(BIO *bio, int flags) noexcept nogil
    void (*BIO_clear_flags)(BIO *bio, int flags) noexcept nogil
    unsigned long (*ERR_peek_last_error)() noexcept nogil
    const char *(*ERR_reason_error_string)(unsigned long error) noexcept nogil
    void (*ERR_clear_error)() noexcept nogil
    X509 *(*d2i_X509)(X509 **into, const unsigned char **data, long size) noexcept nogil
    int (*i2d_X509)(const X509 *certificate, unsigned char **into) noexcept nogil
    void (*X509_free)(X509 *certificate) noexcept nogil
    EVP_PKEY *(*d2i_AutoPrivateKey)(EVP_PKEY **into, const unsigned char **data, long size) noexcept nogil
    void (*EVP_PKEY_free)(EVP_PKEY *key) noexcept nogil

cdef OpenSSL openssl

cdef class ServerContext:
    cdef SSL_CTX *context
    cdef readonly bint verifies_peers

cdef enum:
    RECORD_BYTES_MAX = 16384  # of plain text

# A thread has one Wire for all its connections. Between two calls nothing is in it.
cdef struct Wire:
    const uint8_t *incoming
    size_t incoming_size
    uint8_t *outgoing
    size_t outgoing_size
    size_t outgoing_room
    const char *reason  # why the last call failed
    int reads_left  # until a record has plain text

# What `open_records` and `shake_hands` found.
cdef enum Progress:
    WANTS_MORE = 0  # the peer has to send more
    IS_DONE = 1  # the handshake is over, or the buffer for plain text is full
    HAS_ENDED = 2  # the peer sent close_notify
    HAS_FAILED = 3  # `Wire.reason` says why

cdef SSL *new_session(void *context) noexcept nogil
cdef Progress shake_hands(SSL *ssl, Wire *wire) noexcept nogil
cdef Progress open_records(SSL *ssl, Wire *wire, uint8_t *plain, size_t room, size_t *got) noexcept nogil
cdef bint seal(SSL *ssl, Wire *wire, const uint8_t *plain, size_t size) noexcept nogil
cdef void seal_end(SSL *ssl, Wire *wire) noexcept nogil

"""Finds the system's OpenSSL and the functions in it."""

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

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
# Functions that another version has under another name.
FORMER = {"SSL_get1_peer_certificate": "SSL_get_peer_certificate"}

cdef const char *UNKNOWN_REASON = b"unknown reason"


def load():
    """Fill `openssl`. Returns the library's version as text. ImportError, in one sentence, where that is not possible.

    The standard library's ssl is imported before: two copies of libcrypto in a process would be one too many. A library
    of the same name that it has loaded is taken.
    """
    cdef void *library = NULL
    if openssl.version == 0:
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
        find_functions(library)
    return openssl.OpenSSL_version(0).decode("ascii", "replace")


cdef int find_functions(void *library) except -1:
    """Under the GIL. `openssl.version` is set last."""
    fill(&openssl, library)
    version = openssl.OpenSSL_version_num()
    if version < OLDEST:
        raise ImportError(f"{openssl.OpenSSL_version(0).decode()} is too old: 1.1.1 or newer is needed")
    openssl.version = version
    return 0


cdef void *find(void *library, str name) except NULL:
    cdef void *found = dlsym(library, name.encode())
    if found == NULL and name in FORMER:
        found = dlsym(library, FORMER[name].encode())
    if found == NULL:
        raise ImportError(f"the OpenSSL that was loaded has no function {name}")
    return found


cdef int fill(OpenSSL *into, void *library) except -1:
    (<void **>&into.TLS_server_method)[0] = find(library, "TLS_server_method")
    (<void **>&into.SSL_CTX_new)[0] = find(library, "SSL_CTX_new")
    (<void **>&into.SSL_CTX_free)[0] = find(library, "SSL_CTX_free")
    (<void **>&into.SSL_CTX_up_ref)[0] = find(library, "SSL_CTX_up_ref")
    (<void **>&into.SSL_CTX_ctrl)[0] = find(library, "SSL_CTX_ctrl")
    (<void **>&into.SSL_CTX_set_options)[0] = find(library, "SSL_CTX_set_options")
    (<void **>&into.SSL_CTX_clear_options)[0] = find(library, "SSL_CTX_clear_options")
    (<void **>&into.SSL_CTX_set_session_id_context)[0] = find(library, "SSL_CTX_set_session_id_context")
    (<void **>&into.SSL_CTX_set_verify)[0] = find(library, "SSL_CTX_set_verify")
    (<void **>&into.SSL_CTX_load_verify_locations)[0] = find(library, "SSL_CTX_load_verify_locations")
    (<void **>&into.SSL_CTX_set_default_verify_paths)[0] = find(library, "SSL_CTX_set_default_verify_paths")
    (<void **>&into.SSL_CTX_use_certificate)[0] = find(library, "SSL_CTX_use_certificate")
    (<void **>&into.SSL_CTX_use_PrivateKey)[0] = find(library, "SSL_CTX_use_PrivateKey")
    (<void **>&into.SSL_CTX_check_private_key)[0] = find(library, "SSL_CTX_check_private_key")
    (<void **>&into.SSL_CTX_set_cipher_list)[0] = find(library, "SSL_CTX_set_cipher_list")
    (<void **>&into.SSL_CTX_set_ciphersuites)[0] = find(library, "SSL_CTX_set_ciphersuites")
    (<void **>&into.SSL_CTX_set_security_level)[0] = find(library, "SSL_CTX_set_security_level")
    (<void **>&into.SSL_new)[0] = find(library, "SSL_new")
    (<void **>&into.SSL_free)[0] = find(library, "SSL_free")
    (<void **>&into.SSL_set_bio)[0] = find(library, "SSL_set_bio")
    (<void **>&into.SSL_get_rbio)[0] = find(library, "SSL_get_rbio")
    (<void **>&into.SSL_set_accept_state)[0] = find(library, "SSL_set_accept_state")
    (<void **>&into.SSL_do_handshake)[0] = find(library, "SSL_do_handshake")
    (<void **>&into.SSL_read)[0] = find(library, "SSL_read")
    (<void **>&into.SSL_write)[0] = find(library, "SSL_write")
    (<void **>&into.SSL_pending)[0] = find(library, "SSL_pending")
    (<void **>&into.SSL_shutdown)[0] = find(library, "SSL_shutdown")
    (<void **>&into.SSL_get_error)[0] = find(library, "SSL_get_error")
    (<void **>&into.SSL_get_cipher_list)[0] = find(library, "SSL_get_cipher_list")
    (<void **>&into.SSL_get1_peer_certificate)[0] = find(library, "SSL_get1_peer_certificate")
    (<void **>&into.OpenSSL_version_num)[0] = find(library, "OpenSSL_version_num")
    (<void **>&into.OpenSSL_version)[0] = find(library, "OpenSSL_version")
    (<void **>&into.BIO_meth_new)[0] = find(library, "BIO_meth_new")
    (<void **>&into.BIO_meth_set_read)[0] = find(library, "BIO_meth_set_read")
    (<void **>&into.BIO_meth_set_write)[0] = find(library, "BIO_meth_set_write")
    (<void **>&into.BIO_meth_set_ctrl)[0] = find(library, "BIO_meth_set_ctrl")
    (<void **>&into.BIO_get_new_index)[0] = find(library, "BIO_get_new_index")
    (<void **>&into.BIO_new)[0] = find(library, "BIO_new")
    (<void **>&into.BIO_set_init)[0] = find(library, "BIO_set_init")
    (<void **>&into.BIO_set_data)[0] = find(library, "BIO_set_data")
    (<void **>&into.BIO_get_data)[0] = find(library, "BIO_get_data")
    (<void **>&into.BIO_set_flags)[0] = find(library, "BIO_set_flags")
    (<void **>&into.BIO_clear_flags)[0] = find(library, "BIO_clear_flags")
    (<void **>&into.ERR_peek_last_error)[0] = find(library, "ERR_peek_last_error")
    (<void **>&into.ERR_reason_error_string)[0] = find(library, "ERR_reason_error_string")
    (<void **>&into.ERR_clear_error)[0] = find(library, "ERR_clear_error")
    (<void **>&into.d2i_X509)[0] = find(library, "d2i_X509")
    (<void **>&into.i2d_X509)[0] = find(library, "i2d_X509")
    (<void **>&into.X509_free)[0] = find(library, "X509_free")
    (<void **>&into.d2i_AutoPrivateKey)[0] = find(library, "d2i_AutoPrivateKey")
    (<void **>&into.EVP_PKEY_free)[0] = find(library, "EVP_PKEY_free")
    return 0


cdef const char *take_reason() noexcept nogil:
    """Any thread. Why the last call of this thread failed, and an empty error queue for the next one."""
    cdef const char *reason = openssl.ERR_reason_error_string(openssl.ERR_peek_last_error())
    openssl.ERR_clear_error()
    return UNKNOWN_REASON if reason == NULL else reason

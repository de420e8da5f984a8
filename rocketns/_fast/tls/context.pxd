"""What compiled callers may use of context.pyx."""

from rocketns._fast.tls.openssl cimport SSL_CTX

cdef class ServerContext:
    cdef SSL_CTX *context
    cdef readonly bint verifies_peers

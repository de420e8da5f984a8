"""What compiled callers may use of hosts.pyx."""

from libc.stdint cimport uint16_t

from rocketns._fast.system.hashing cimport HashKey

cdef uint16_t number_of(const char *host, size_t length, const HashKey *key) noexcept nogil
cdef uint16_t host_number(const char *address, const HashKey *key) noexcept nogil

"""The bytes that connections hold: in all, by host, and who of those that hold many makes no progress."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.system.atomics cimport add

# Connections by who their peer is.
cdef enum:
    STRANGERS = 0
    KNOWN = 1  # a broker registered from the connection

cdef enum:
    HOSTS = 1024  # numbers of hosts; several hosts may have the same, see hosts.pyx
    # So many bytes that came, or were taken, are progress. So is the rest of a frame, or of the answers.
    PROGRESS_BYTES = 16384

# What all connections hold of one kind of bytes. All reactors write it, any thread reads it. Atomic
# but for the first word.
cdef struct Totals:
    int64_t listed_bytes_min  # fixed: a connection with less is in no list, since closing it would free little
    int64_t held_bytes
    int64_t known_bytes  # the part of them that connections of registered brokers hold
    int64_t host_bytes[2][HOSTS]  # of strangers or known ones, by the number of the host

# For one kind of bytes: when the listed connection with the longest time without progress made its last one, in
# milliseconds of the monotonic clock. 0: there is none. Atomic: one thread writes it, any thread reads it.
cdef struct Ages:
    int64_t oldest_ms[2][HOSTS]  # of strangers or known ones, by the number of the host

# The connections of one reactor that hold many bytes of one kind. The lists have the longest without progress first.
cdef struct Holders:
    Totals *totals  # the pointer is fixed
    Ages ages
    Connection *first[2][HOSTS]  # reactor thread only
    Connection *last[2][HOSTS]  # likewise

cdef void hold(Holders *holders, int kind, Connection *connection, size_t size, int64_t now_ms) noexcept nogil
cdef void note_progress(Holders *holders, int kind, Connection *connection, int64_t now_ms) noexcept nogil
cdef void note_known(Holders *holders, Connection *connection, bint is_known, int64_t now_ms) noexcept nogil


cdef inline int64_t add_held(Totals *totals, int known, uint32_t host, int64_t change) noexcept nogil:
    """Any thread. Count bytes that a connection holds from now on, or no longer. Returns all of that kind."""
    add(&totals.host_bytes[known][host], change)
    if known == KNOWN:
        add(&totals.known_bytes, change)
    return add(&totals.held_bytes, change)


cdef inline void count_held(Holders *holders, int kind, Connection *connection, size_t size,
                            int64_t now_ms) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes now. Nothing is done where it holds none, as before."""
    if size != connection.held[kind]:
        hold(holders, kind, connection, size, now_ms)
    if size and connection.moved[kind] >= PROGRESS_BYTES:
        note_progress(holders, kind, connection, now_ms)

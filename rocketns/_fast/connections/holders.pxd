"""The connections of a reactor that hold bytes, and who of those that hold many makes no progress."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t

from rocketns._fast.connections.connection cimport Connection
from rocketns._fast.connections.hosts cimport HOSTS, Hosts

cdef enum:
    # So many bytes that came, or were taken, are progress. So is the rest of a frame, or of the answers.
    PROGRESS_BYTES = 16384
    OF_ALL = HOSTS  # the list of all hosts, behind those of each

cdef struct ConnectionList:
    Connection *first
    Connection *last

# The connections of one reactor that hold many bytes of one kind, strangers or known ones: by host, and all of them. The
# lists have the longest without progress first.
cdef struct Holders:
    # Fixed.
    Hosts *table
    int64_t listed_bytes_min  # a connection with less is in no list, since closing it would free little
    # Since when the first of each list is without progress, in milliseconds of the monotonic clock. 0: there is none.
    # Atomic: the reactor writes it, any thread reads it.
    int64_t oldest_ms[2][HOSTS + 1]
    # Reactor thread only.
    ConnectionList lists[2][HOSTS + 1]

cdef void hold(Holders *holders, int kind, Connection *connection, size_t size, int64_t now_ms) noexcept nogil
cdef void note_progress(Holders *holders, int kind, Connection *connection, int64_t now_ms) noexcept nogil
cdef void note_known(Holders *holders, Connection *connection, bint is_known, int64_t now_ms) noexcept nogil


cdef inline void count_held(Holders *holders, int kind, Connection *connection, size_t size,
                            int64_t now_ms) noexcept nogil:
    """Reactor thread only. The connection holds ``size`` bytes now. Nothing is done where it holds none, as before."""
    if size != connection.held[kind]:
        hold(holders, kind, connection, size, now_ms)
    if size and connection.moved[kind] >= PROGRESS_BYTES:
        note_progress(holders, kind, connection, now_ms)

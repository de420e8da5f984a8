"""A connection of a reactor: its buffers, what it may still do, and who of those that hold many bytes makes no progress."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport Peer
from rocketns._fast.connections.hosts cimport HOSTS, KINDS, Hosts, Queued
from rocketns._fast.connections.messages cimport Message
from rocketns._fast.tls.openssl cimport SSL

# Why a connection ended. server/reactors/transport.py has the cause and the log line of each.
cpdef enum Ending:
    PEER_CLOSED = 0
    FAILED = 1
    IDLE = 2
    MALFORMED_FRAME = 3
    ENDED = 4
    TOO_MUCH_UNSENT = 5
    TOO_MUCH_UNFINISHED = 6
    TOO_MUCH_UNSENT_IN_ALL = 7
    STALLED_FRAME = 8
    STALLED_ANSWERS = 9
    STRANGER = 10
    TLS_FAILED = 11
    TLS_DISABLED = 12
    NOT_TLS = 13
    NO_CERTIFICATE = 14
    STALLED_HANDSHAKE = 15
    UNTRUSTED_PROXY = 16
    WRONG_PROXY_HEADER = 17

# The neighbours of a connection in a list, see connection.pyx.
cdef struct Links:
    Connection *older
    Connection *newer

# Where a connection is. Only the handshake thread has connections that are not CARRIED.
cdef enum Stage:
    CARRIED = 0  # by a reactor. Its first bytes are known
    UNDECIDED = 1  # its first bytes may be a PROXY header
    BEHIND_HEADER = 2  # the next byte decides between plain and TLS
    WITHOUT_CONTEXT = 3  # it begins with TLS, and control has not made the context yet
    SHAKING_HANDS = 4

# Every field belongs to the thread of the reactor that has the connection: no other thread writes it, and none reads it
# but where its comment says so. A MOVE message hands the whole connection to another thread. The mutexes of the two
# inboxes order the two threads' writes: the sender touches the connection no more after its push, and the receiver sees
# all writes that came before it.
#
# `input` and `output` are NULL while nothing waits in them. Waiting input begins at input + input_start with the first
# byte of a frame. The bytes before it are done with. Of a TLS connection the input is plain text, and the output records.
cdef struct Connection:
    # Waits for control to catch up, in the reactor's ring; or for its turn, in the handshake thread's.
    Queued queued
    # Who it is.
    int fd
    uint32_t index  # in the reactor's connection table
    uint32_t generation
    SSL *tls  # NULL: it is plain
    char *address  # where lookups are counted by client, or a proxy announced it; else NULL
    uint64_t address_hash
    int64_t answered  # its lookups that reactors answered. Control reads it, see `Reactors.lookups_of`. By `count_one`
    Message *close_notice  # CLOSED, for control, which knows the connection. Made early, so memory cannot lack later
    # What it waits for.
    uint32_t armed  # the epoll events that are asked for
    uint32_t in_flight  # requests at control without an answer
    uint8_t stage  # one of Stage
    uint8_t is_announced  # a PROXY header announced its address
    uint8_t shows_names  # its certificate was verified by authorities that the operator chose
    bint is_new  # nothing was read yet: the first byte decides whether it begins with a frame
    bint is_detecting  # plain, but Java waits for as many bytes as the start of a PROXY header has
    bint is_awaited  # control wants TAKEN when the peer took its answers
    bint has_frames  # the turn ended before the input did
    bint is_let_through  # its next frame has its token of the rate, and waits for control
    int64_t began_ms  # when the handshake thread got it, or had a context for it
    int64_t active_ms  # the last byte in or out
    int64_t idle_ms_max
    # How it ends.
    int64_t ending_ms
    int ending  # an Ending
    uint8_t is_ending  # to be closed when its output is sent
    uint8_t is_failed  # to be closed at the end of this turn
    # What it may do, see connection_table.pyx.
    Peer peer
    uint8_t listener  # the number of the socket that it came by: 0 is listenPort's
    uint8_t view  # which addresses it gets, see reactor/answers.pyx; 0: the announced ones
    uint32_t view_generation  # of the file that says so
    uint32_t access_generation  # of the policy that it was judged by
    uint8_t access_flags  # of its networks then
    uint8_t is_guarded  # reactors answer only its signed lookups that control has allowed
    # What its lookups look like.
    uint8_t layout  # number in reactor.layouts, from 1; 0 = none known
    uint8_t layouts_learnt
    # Whose it is, see `connection_table.know_host`.
    uint8_t is_known  # 1: a broker registered from it, as control said with its last answer
    uint16_t host  # the number of its host, which it has claimed; HOSTS: it is not known yet
    uint8_t is_listed[KINDS]  # whether it holds so many bytes that it is in the reactor's list of that kind
    uint64_t host_hash
    # Its buffers.
    uint8_t *input
    size_t input_start
    size_t input_size
    size_t input_room
    uint8_t *output
    size_t output_start
    size_t output_end
    size_t output_room
    size_t held[KINDS]  # bytes of each kind, as counted in the totals
    uint32_t moved[KINDS]  # bytes that came, or were taken, since the last progress
    int64_t progress_ms[KINDS]  # the last progress, or when the first byte was held
    Links links[KINDS]  # by kind, in the list of its host


cdef enum:
    SENT_AT_ONCE_MAX = 256 * 1024  # other connections wait for no more than this


cdef bint keep_input(Connection *connection, const uint8_t *data, size_t size) noexcept nogil
cdef bint make_input_room(Connection *connection, size_t wanted) noexcept nogil
cdef void drop_input(Connection *connection) noexcept nogil
cdef uint8_t *output_space(Connection *connection, size_t size) noexcept nogil
cdef void drop_output(Connection *connection) noexcept nogil
cdef bint send_output(Connection *connection) noexcept nogil


cdef inline size_t unsent(const Connection *connection) noexcept nogil:
    """Reactor thread only."""
    return connection.output_end - connection.output_start

cdef enum:
    # So many bytes that came, or were taken, are progress. So is the rest of a frame, or of the answers.
    PROGRESS_BYTES = 16384

cdef struct ConnectionList:
    Connection *first
    Connection *last

# The connections of one reactor that hold many bytes of one kind, strangers or known ones, by host. The lists have the
# longest without progress first.
cdef struct Holders:
    # Fixed.
    Hosts *table
    int64_t listed_bytes_min  # a connection with less is in no list, since closing it would free little
    # Since when the first of each list is without progress, in milliseconds of the monotonic clock. 0: there is none.
    # Atomic: the reactor writes it, any thread reads it.
    int64_t oldest_ms[2][HOSTS]
    # Reactor thread only.
    ConnectionList lists[2][HOSTS]

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

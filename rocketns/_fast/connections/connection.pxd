"""A connection of a reactor: its buffers, and what it may still do."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport Peer
from rocketns._fast.connections.hosts cimport KINDS
from rocketns._fast.connections.messages cimport Link, Message
from rocketns._fast.tls.openssl cimport RECORD_BYTES_MAX, SSL, Wire

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

# Bytes that wait: ``size`` of them, at ``data + start``. Those before are done with. Without any, ``data`` is NULL.
cdef struct Buffer:
    uint8_t *data
    size_t start
    size_t size
    size_t room

# How far a connection is. The handshake thread has those behind CARRIED, reactors have the others.
cdef enum Stage:
    NEW = 0  # nothing was read yet: the first byte decides whether it begins with a frame
    DETECTING = 1  # plain, but Java waits for as many bytes as the start of a PROXY header has
    CARRIED = 2  # its frames are read
    UNDECIDED = 3  # its first bytes may be a PROXY header
    BEHIND_HEADER = 4  # the next byte decides between plain and TLS
    WITHOUT_CONTEXT = 5  # it begins with TLS, and control has not made the context yet
    SHAKING_HANDS = 6

# Every field belongs to the thread of the reactor that has the connection: no other thread writes it, and none reads it
# but where its comment says so. A MOVE message hands the whole connection to another thread. The mutexes of the two
# inboxes order the two threads' writes: the sender touches the connection no more after its push, and the receiver sees
# all writes that came before it.
#
# Waiting input begins with the first byte of a frame. Of a TLS connection the input is plain text, and the output is
# records.
cdef struct Connection:
    # The connection itself. Its kind is MOVE until control knows it: it may be on its way to another thread. It waits
    # in the reactor's ring for control to catch up, or in the handshake thread's for its turn. Its end goes to control
    # as CLOSED or REFUSED, and control frees it: nothing can fail then. Its host is the one that it has claimed.
    Message message
    # Who it is.
    int fd
    SSL *tls  # NULL: it is plain
    char *address  # as a text; behind its 0 the socket's, or an empty one if that is the same
    uint64_t address_hash
    int64_t answered  # its lookups that reactors answered. Control reads it, see `Reactors.lookups_of`. By `count_one`
    # What it waits for.
    uint32_t armed  # the epoll events that are asked for
    uint32_t in_flight  # requests at control without an answer
    uint8_t stage  # one of Stage
    uint8_t is_announced  # a PROXY header announced its address
    uint8_t shows_names  # its certificate was verified by authorities that the operator chose
    bint is_awaited  # control wants DELIVERED when the peer took its answers
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
    # What it may do, see `turns.admit`.
    Peer peer
    uint8_t listener  # the number of the socket that it came by: 0 is listenPort's
    uint8_t view  # which addresses it gets, see reactor/answers.pyx; 0: the announced ones
    uint32_t view_generation  # of the file that says so
    uint32_t access_generation  # of the policy that it was judged by
    uint8_t is_guarded  # reactors answer only its signed lookups that control has allowed
    # What its lookups look like.
    uint8_t layout  # number in reactor.layouts, from 1; 0 = none known
    uint8_t layouts_learnt
    # Whose it is, see `opening.read_proxy`.
    uint8_t is_broker  # 1: a broker registered from it, as control said with its last answer
    # Its buffers.
    Buffer input
    Buffer output
    size_t charged[KINDS]  # bytes of each kind, as counted in the totals
    uint32_t moved[KINDS]  # bytes that came, or were taken, since the last progress
    int64_t progress_ms[KINDS]  # the last progress, or when the first byte was held
    Link links[KINDS]  # in a list of reactor_state.LargeConnections, while it holds so many bytes of that kind


cdef enum:
    SEALED_AT_ONCE_MAX = 64 * 1024  # plain text that is made into records together
    # Room for plain text beside as many bytes as were received: what OpenSSL has of an unfinished record.
    UNFINISHED_RECORD_MAX = RECORD_BYTES_MAX + 1024

cdef bint make_room(Buffer *buffer, size_t room) noexcept nogil
cdef bint keep(Buffer *buffer, const uint8_t *data, size_t size) noexcept nogil
cdef void drop(Buffer *buffer) noexcept nogil
cdef void send_output(Connection *connection) noexcept nogil
cdef void send_wire(Connection *connection, Wire *wire) noexcept nogil
cdef void send_answers(Connection *connection, Wire *wire, const uint8_t *data, size_t size) noexcept nogil
cdef size_t receive_some(Connection *connection, uint8_t *into, size_t room, int64_t now_ms) noexcept nogil

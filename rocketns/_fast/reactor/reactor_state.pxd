"""The state of a reactor, and the state that reactors and control share: who writes each field, and under what.

Four ways occur. Fixed: written by control before the reactors' threads start, read by all. Atomic: `system/threads`
only. Under a mutex: the comment names it. Reactor thread only: no other thread reads or writes it while the loop runs.
Control creates a reactor before its thread starts and frees it after its thread ended.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport NetworkTable
from rocketns._fast.access.policy cimport PolicyCopy, Policy
from rocketns._fast.codec.requests cimport Layout
from rocketns._fast.connections.connection cimport Buffer, Connection
from rocketns._fast.connections.hosts cimport HOSTS, KINDS, Hosts
from rocketns._fast.connections.messages cimport HostRing, Line, Message, MessageKind, Queue, new_message, push
from rocketns._fast.routes.asked_topics cimport Counts, Missing
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.routes.slots cimport LISTENERS_MAX, VIEWS_MAX, Routes
from rocketns._fast.system.threads cimport Owner, add, assert_owner, pthread_mutex_t
from rocketns._fast.tls.openssl cimport SSL_CTX, Wire

cdef enum:
    LAYOUTS = 16
    SCRATCH_BYTES = 128 * 1024
    # Room for the records of SEALED_AT_ONCE_MAX, and for a reply to each record that is received at once: a peer may
    # ask for new keys in the smallest of them, and a reply is not larger.
    SEALED_BYTES = SCRATCH_BYTES + 4096
    # OpenSSL's memory for a connection, measured: see docs/design/limits.md. It allocates by itself, and does not
    # count.
    HANDSHAKE_BYTES = 64 * 1024
    # While a message of the handshake is not whole. OpenSSL makes room for as much as the message says, up to 131,396
    # bytes and a third.
    UNFINISHED_MESSAGE_BYTES = 240 * 1024
    TLS_BYTES = 16 * 1024
    FRAME_COST_BYTES = 256  # the memory of a waiting frame beside its own bytes
    LATENCY_BUCKETS = 17  # of the times of lookups; the last one has no bound

# Sizes in bytes, all from the configuration. Fixed.
cdef struct Limits:
    uint32_t frame_bytes_max
    uint32_t in_flight_max
    int64_t connections_max
    int64_t charged_bytes_max[KINDS]  # of all connections together; OpenSSL's memory counts in that of INPUT, too
    int64_t host_bytes_max[KINDS]  # a host with more is looked at by itself, see connection_table.pyx
    int64_t listed_bytes_min[KINDS]  # a connection with less is in no list, since closing it would free little
    int64_t progress_ms_max  # a connection without progress for so long is closed; 0: none is
    int64_t queued_bytes_max
    size_t outgoing_bytes_max
    size_t high_water_bytes
    int send_buffer_bytes
    int receive_buffer_bytes
    int serialize_type
    int version  # of RocketMQ, which the answers follow
    bint accepts_plain
    bint accepts_tls
    int64_t handshake_ms_max  # of a PROXY header and a handshake; 0: no limit
    int64_t deferred_ms_max  # of a lookup without a route, see answers.pxd
    bint trusts_announced  # whether an address of a PROXY header says in which networks its peer is
    uint32_t lookup_keys_max  # that a reactor counts for the journal; 0: none
    bint counts_clients  # whether the client is a part of the key
    bint reports_clients  # whether control is told the language and version of a connection's first lookup
    int64_t latency_bounds_ns[LATENCY_BUCKETS - 1]  # of the buckets of lookups' times, but of the last one

# How far the context is. Control decides.
cdef enum ContextState:
    UNKNOWN = 0  # nobody wanted one yet
    WANTED = 1
    IN_USE = 2
    NOT_USABLE = 3

cdef struct Tls:
    # Under the mutex. Control writes, the handshake thread reads, and sets WANTED.
    pthread_mutex_t mutex
    ContextState state
    SSL_CTX *context  # a reference of its own; NULL unless IN_USE
    bint verifies_peers
    # The handshake thread writes, others read. Atomic.
    int64_t succeeded
    int64_t failed
    int64_t spent_ns

cdef struct Shared:
    # Fixed.
    Limits limits
    Routes *routes  # the pointer; routes/slots.pxd says who writes what it points to
    Hosts *hosts  # the pointer; connections/hosts.pxd says who writes what it points to
    Reactor *reactors[READERS_MAX + 1]  # the last one is the handshake thread, see opening.pyx
    int carriers  # reactors
    int reactor_count  # with the handshake thread
    const NetworkTable *proxies  # whose PROXY headers count; NULL: everybody's
    Owner control  # the thread of control, for debug builds
    # Written by control, read by reactors. Atomic.
    int64_t enabled  # 0: every lookup is handed over
    int64_t clock_ms  # -1, or the time that a test sets
    int64_t idle_ms_max  # of new connections
    # Written by control and by all reactors. Atomic.
    int64_t connections
    int64_t gone  # connections that have ended, and control has not taken CLOSED or REFUSED
    int64_t turned_away  # connections that were closed at once, beyond `connections_max`
    int64_t asked[KINDS]  # not 0: an owner was asked to close connections and has not begun
    int64_t replied_bytes  # of control's answers that no reactor has looked at
    int64_t queued_bytes  # of frames that control has not decoded; see `turns.is_crowded` for its order with `stalled`
    int64_t stalled  # 1: a connection waits for control to catch up, and control has not sent RESUME
    int64_t unapplied  # frames for control without effect; see `answers.defer` for its order with `deferred`
    int64_t deferred  # lookups
    # access/policy.pxd says who writes which field, and under what.
    Policy policy
    Tls tls
    # Reactors write, control takes. Under its own mutex.
    Queue to_control

# The connections of one reactor that hold many bytes of one kind, strangers or known ones, by host. A connection goes
# to the end of its list with each progress. So the first of a list has made none for the longest time, and each change
# costs the same, however many there are.
cdef struct LargeConnections:
    # Since when the first of each list is without progress, in milliseconds of the monotonic clock. 0: there is none.
    # Atomic: the reactor writes it, any thread reads it.
    int64_t oldest_ms[2][HOSTS]
    # Reactor thread only.
    Line lists[2][HOSTS]

cdef struct Reactor:
    # Fixed.
    Shared *shared
    int number
    int epoll_fd
    int listen_fds[LISTENERS_MAX]
    int listeners
    uint8_t *scratch_in  # the pointers; the reactor writes the bytes
    uint8_t *scratch_received  # SCRATCH_BYTES of records from a socket
    bint shakes_hands  # the handshake thread
    # Control and other reactors write, this reactor takes. Under its own mutex.
    Queue inbox
    # This reactor holds it while it reads `shared.routes` or writes `counts` and `missing`. Control holds it while it
    # writes `shared.routes`, swaps `counts`, or empties `missing`.
    pthread_mutex_t routes_mutex
    Counts counts
    Missing missing
    # This reactor holds it while it changes `connections` or `table_end`, control while it reads them. A connection
    # is freed only when it is off the table.
    pthread_mutex_t table_mutex
    # Written by who sends to `inbox`. Atomic.
    int64_t messages_sent
    # Written by this reactor, read by others: lookups by `count_one`, the rest atomic, as is `large[].oldest_ms`.
    int64_t messages_handled
    int64_t rounds  # times that all ready sockets were served
    int64_t lookups[2]  # answered with a route [0] and without [1]
    int64_t of_views[VIEWS_MAX]  # of the two: by view
    int64_t signed_lookups  # of the two: allowed by an earlier decision about the same bytes
    int64_t latency[2][LATENCY_BUCKETS]  # sampled lookups with a route [0] and without [1], by their time
    int64_t latency_ns[2]  # their times added up
    # Reactor thread only, from here on.
    Owner thread  # for debug builds
    bint is_accepting
    bint is_stopping
    int next_reactor  # that gets a new connection
    int64_t now_ms
    Line pending  # taken from the inbox, not yet handled
    HostRing waiting  # connections that wait for control, or for the next step of their handshake
    bint may_resume  # control caught up: stalled connections may hand over frames again
    bint is_resuming
    int idle_left  # descriptors below this one are not yet checked for idle connections
    int64_t idle_at_ms
    size_t turn_bytes
    bint has_accepted  # a connection came in this round: what it has sent is not read yet
    Line deferred  # lookups without a route, see answers.pxd
    Wire wire  # its outgoing room is fixed: SEALED_BYTES
    int rounds_to_sample
    uint32_t sample_state
    LargeConnections large[KINDS]  # by kind
    # The connection table, by descriptor: DESCRIPTORS_BESIDE_MAX more than `connections_max`. Those from `table_end` on
    # were never used.
    Connection **connections
    int table_end
    uint32_t generation
    Buffer written  # answers of the present turn. Its room stays
    Layout layouts[LAYOUTS]
    uint8_t next_layout
    PolicyCopy policy_copy  # at least as new as that of each connection's last turn

# A connection's id: the reactor's number, the descriptor, and a generation, which the reactor never uses twice.
cdef enum:
    GENERATION_BITS = 32
    DESCRIPTOR_BITS = 24  # `connections_max` is a million at most
    REACTOR_SHIFT = GENERATION_BITS + DESCRIPTOR_BITS
    DESCRIPTORS_BESIDE_MAX = 16_384  # that are no connections of reactors; `outgoingConnectionsMax` is 10,000 at most

# The epoll ids of the listening sockets and of the inbox's eventfd. No connection has them.
cdef extern from "<stdint.h>" nogil:
    const uint64_t LISTENING "UINT64_MAX"
    const uint64_t WOKEN "(UINT64_MAX - 1)"


cdef inline void assert_reactor(const Reactor *reactor, const char *function) noexcept nogil:
    """Debug builds: end the process unless this is the reactor's thread."""
    assert_owner(&reactor.thread, function)


cdef inline Connection *find_connection(Reactor *reactor, uint64_t id) noexcept nogil:
    """Reactor thread, or with `table_mutex`. NULL where the connection is gone: another may have its descriptor."""
    cdef int fd = (id >> GENERATION_BITS) & ((1 << DESCRIPTOR_BITS) - 1)
    cdef Connection *connection = reactor.connections[fd] if fd < reactor.table_end else NULL
    return connection if connection != NULL and connection.message.connection == id else NULL


cdef inline bint must_wait(Reactor *reactor, const Connection *connection) noexcept nogil:
    """Reactor thread only. Whether no further frame of the connection may be looked at now."""
    return (
        connection.is_ending
        or connection.is_failed
        or connection.message.link.owner != NULL  # it waits in the ring
        or connection.in_flight >= reactor.shared.limits.in_flight_max
        or connection.output.size > reactor.shared.limits.high_water_bytes
    )


cdef inline bint notify_control(
    Reactor *reactor, const Connection *connection, MessageKind kind, int64_t number, int64_t moment
) noexcept nogil:
    """Reactor thread only. A message about a connection; False where there is no memory."""
    cdef Message *message = new_message(kind, &connection.message, 0)
    if message == NULL:
        return False
    message.number, message.moment = number, moment
    push(&reactor.shared.to_control, message)
    return True


cdef inline void send_message(Reactor *receiver, Message *message) noexcept nogil:
    """Any thread. Put a message into a reactor's inbox and wake the reactor if it was empty.

    The message is counted before it is pushed: so the receiver never has handled more messages than were sent, and
    `has_handled_all` of the tests finds equal sums only when nothing is on its way.
    """
    add(&receiver.messages_sent, 1)
    push(&receiver.inbox, message)

"""What a reactor has, and what it shares with the others and with control."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from rocketns._fast.connections.connection cimport Connection, unsent
from rocketns._fast.connections.holders cimport Holders
from rocketns._fast.routes.lookup_counts cimport Counts
from rocketns._fast.connections.messages cimport Message, Queue
from rocketns._fast.codec.route_request cimport Layout
from rocketns._fast.routes.routes cimport READERS_MAX
from rocketns._fast.routes.slots cimport Routes
from rocketns._fast.system.threads cimport pthread_mutex_t

cdef enum:
    LAYOUTS = 16
    SCRATCH_BYTES = 128 * 1024
    FRAME_COST_BYTES = 256  # what a waiting frame takes beside its own bytes

# Sizes in bytes, all from the configuration; fixed once the reactors run.
cdef struct Limits:
    uint32_t frame_bytes_max
    uint32_t in_flight_max
    int64_t connections_max
    int64_t held_bytes_max[2]  # of each kind of holders.pxd, all connections together
    int64_t queued_bytes_max
    int64_t first_frames_bytes_max  # of what control has waiting, for a connection that has no frame there
    size_t outgoing_bytes_max
    size_t high_water_bytes
    int send_buffer_bytes
    int receive_buffer_bytes
    int detection_bytes
    int serialize_type
    bint takes_plain

# enabled: 0 hands every look-up over. dealt_to: the first so many reactors get new connections. clock_ms: -1, or the time that a test says it is. counted_keys_max and
# counts_clients are fixed once the reactors run.
cdef struct Shared:
    Limits limits
    Routes *routes
    Queue to_control
    Reactor *reactors[READERS_MAX]
    int reactor_count
    int64_t connections
    int64_t held_bytes[2]  # of each kind of holders.pxd, those of control's loop among them
    int64_t largest_of_loop[2]  # what the largest holder of control's loop has
    int64_t asked[2]  # not 0: an owner was asked to close its largest holder, and has not begun
    int64_t replied_bytes  # of control's answers that no reactor has looked at
    int64_t queued_bytes
    int64_t stalled
    int64_t enabled
    int64_t clock_ms
    int64_t idle_ms_max
    int64_t dealt_to
    uint32_t counted_keys_max
    bint counts_clients

cdef struct Reactor:
    Shared *shared
    int number
    int epoll_fd
    int listen_fd
    bint is_accepting
    bint is_stopping
    int next_reactor
    int64_t now_ms
    pthread_mutex_t routes_mutex
    Queue inbox
    Message *pending  # taken from the queue, not yet handled
    Connection *first_stalled
    Connection *last_stalled
    bint may_resume  # control caught up: those that are stalled go on
    bint is_resuming
    uint32_t idle_left  # places below this one are still to be looked at for idle connections
    int64_t idle_at_ms
    size_t turn_bytes
    Holders holders[2]
    Connection **connections
    uint32_t table_count
    uint32_t table_room
    uint32_t *free_indexes
    uint32_t free_count
    uint32_t generation
    uint32_t next_given
    int64_t carried
    uint8_t *scratch_in
    uint8_t *scratch_out
    size_t out_size
    Layout layouts[LAYOUTS]
    uint8_t next_layout
    Counts counts
    int64_t messages_sent
    int64_t messages_handled
    int64_t rounds
    int64_t answered
    int64_t absent


cdef inline uint64_t id_of(const Reactor *reactor, const Connection *connection) noexcept nogil:
    return (<uint64_t>reactor.number << 56) | (<uint64_t>connection.index << 32) | connection.generation


cdef inline Connection *find_connection(Reactor *reactor, uint64_t id) noexcept nogil:
    """NULL for one that is gone: its place may have been taken by another generation."""
    cdef uint32_t place = (id >> 32) & 0xFFFFFF
    cdef Connection *connection = reactor.connections[place] if place < reactor.table_count else NULL
    return connection if connection != NULL and connection.generation == <uint32_t>id else NULL


cdef inline bint must_wait(Reactor *reactor, const Connection *connection) noexcept nogil:
    return (
        connection.is_ending
        or connection.is_failed
        or connection.is_stalled
        or connection.in_flight >= reactor.shared.limits.in_flight_max
        or unsent(connection) > reactor.shared.limits.high_water_bytes
    )

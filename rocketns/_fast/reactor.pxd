"""One reactor thread: its connections, its epoll loop, and what it shares with the others."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from rocketns._fast.connection cimport Connection
from rocketns._fast.lookup_counts cimport Counts
from rocketns._fast.messages cimport Queue
from rocketns._fast.route_request cimport Layout
from rocketns._fast.routes cimport READERS_MAX, Routes, pthread_mutex_t

cdef enum:
    LAYOUTS = 16
    FRAME_COST_BYTES = 256  # what a waiting frame takes beside its own bytes

# Sizes in bytes, all from the configuration; fixed once the reactors run.
cdef struct Limits:
    uint32_t frame_bytes_max
    uint32_t in_flight_max
    int64_t connections_max
    int64_t incoming_bytes_max
    int64_t queued_bytes_max
    size_t outgoing_bytes_max
    size_t high_water_bytes
    int send_buffer_bytes
    int receive_buffer_bytes
    int detection_bytes
    int serialize_type
    bint takes_plain

# enabled: 0 hands every look-up over. clock_ms: -1, or the time that a test says it is.
cdef struct Shared:
    Limits limits
    Routes *routes
    Queue to_control
    Reactor *reactors[READERS_MAX]
    int reactor_count
    int64_t connections
    int64_t incoming_bytes
    int64_t outgoing_bytes
    int64_t queued_bytes
    int64_t stalled
    int64_t enabled
    int64_t clock_ms
    int64_t idle_ms_max

cdef struct Reactor:
    Shared *shared
    int number
    int epoll_fd
    int listen_fd
    bint is_accepting
    bint is_stopping
    int next_reactor
    int64_t now_ms
    pthread_mutex_t reading
    Queue from_control
    Connection **connections
    uint32_t place_count
    uint32_t place_room
    uint32_t *free_places
    uint32_t free_count
    uint32_t generation
    uint8_t *scratch_in
    uint8_t *scratch_out
    size_t out_size
    Layout layouts[LAYOUTS]
    uint8_t next_layout
    Counts counts
    int64_t told
    int64_t obeyed
    int64_t answered
    int64_t absent

cdef bint start_listening(Reactor *reactor, int listen_fd) noexcept nogil
cdef Reactor *new_reactor(Shared *shared, int number) noexcept nogil
cdef void free_reactor(Reactor *reactor) noexcept nogil
cdef void run_reactor(Reactor *reactor) noexcept nogil

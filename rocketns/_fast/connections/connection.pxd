"""A plain connection of a reactor: its buffers, and what it may still do."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from rocketns._fast.connections.messages cimport Message

# input and output are NULL where nothing waits in them. What waits of the input begins at input + input_start with a
# frame's first byte; what lies before it was worked off.
cdef struct Connection:
    int fd
    uint32_t place
    uint32_t generation
    uint32_t armed
    uint32_t in_flight
    char *address  # where look-ups are counted by client
    uint64_t address_hash
    uint8_t layout  # reactor.layouts, counted from 1; 0 = none known
    uint8_t layouts_learnt
    bint is_new  # nothing was read yet: it may still be TLS
    bint is_detecting  # plain, but Java waits for so many bytes as a PROXY header's start has
    Message *close_notice  # for control, which knows the connection; made before it is needed
    bint is_ending  # to be closed when its output is sent
    bint is_stalled  # waits for control to catch up, in the reactor's list
    Connection *next_stalled
    Connection *previous_stalled
    bint is_awaited  # control takes no more requests of it until its answers are taken
    bint is_failed  # to be closed at the end of this turn
    bint has_frames  # its turn ended before its input did
    int ending  # messages.Ending, for when it closes
    int64_t active_ms
    int64_t ending_ms
    int64_t idle_ms_max
    uint8_t *input
    size_t input_start
    size_t input_size
    size_t input_room
    uint8_t *output
    size_t output_start
    size_t output_end
    size_t output_room
    size_t held[2]  # bytes of each kind of holders.pxd, as counted
    uint32_t heap_index[2]  # in the reactor's heap of that kind, counted from 1; 0 = in none

cdef bint keep_input(Connection *connection, const uint8_t *data, size_t size) noexcept nogil
cdef bint make_input_room(Connection *connection, size_t wanted) noexcept nogil
cdef void drop_input(Connection *connection) noexcept nogil
cdef uint8_t *output_space(Connection *connection, size_t size) noexcept nogil
cdef void drop_output(Connection *connection) noexcept nogil
cdef bint send_output(Connection *connection) noexcept nogil


cdef inline size_t unsent(const Connection *connection) noexcept nogil:
    return connection.output_end - connection.output_start

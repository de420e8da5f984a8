"""What reactors and control send each other: queues with a mutex, and an eventfd that wakes the receiver."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from rocketns._fast.system.sockets cimport read, write
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

# From a reactor to control, and from control to a reactor; `Message.number` and `data` in brackets. MOVE is between
# reactors, and the same message goes on to control as MOVED.
cdef enum Kind:
    OPENED = 1  # a plain connection [its address]
    FRAME = 2  # a request [the frame]
    CLOSED = 3  # a connection that was opened [cause]
    FOREIGN = 4  # a connection that begins with TLS or a PROXY header, nothing of it read [descriptor]
    ADD = 5  # a new connection [descriptor]
    ADOPT = 6  # a connection whose PROXY header was taken off [descriptor; bytes received after it]
    REPLY = 7  # [requests that are done with; answers; `moment` 1: say when they are TAKEN]
    END = 8  # close after what was written
    ABORT = 9  # close at once [cause]
    CLOSE_IDLE = 10  # [milliseconds in `moment`]
    RESUME = 11  # control caught up: frames may be handed over again
    STOP = 12
    GIVE = 13  # part of the connections goes to the reactor `connection` [thousandths; see `moving.give` for `moment`]
    MOVE = 14  # a connection that another reactor had, `connection` as it was [`data` is the `Connection`]
    MOVED = 15  # a connection that was opened has a new number, in `moment`
    TAKEN = 20  # to control: answers of a connection were taken, for which it waited
    SHED = 21  # to a reactor: it has the largest holder of too many bytes [kind of bytes]
    EXCESS = 22  # to control: the same of its loop's connections

# Why a connection ended; the numbers are those of server/reactors/reactor_connection.py.
cdef enum Ending:
    PEER_CLOSED = 0
    FAILED = 1
    IDLE = 2
    MALFORMED_FRAME = 3
    ENDED = 4
    TOO_MUCH_UNSENT = 5
    TOO_MUCH_UNFINISHED = 6
    TOO_MUCH_UNSENT_IN_ALL = 7

cdef struct Message:
    Message *next
    Kind kind
    uint64_t connection
    int number
    int64_t moment
    uint8_t *data
    size_t size

cdef struct Queue:
    pthread_mutex_t mutex
    Message *first
    Message *last
    int wake_fd


cdef inline Message *new_message(Kind kind, uint64_t connection) noexcept nogil:
    """NULL where there is no memory."""
    cdef Message *message = <Message *>calloc(1, sizeof(Message))
    if message != NULL:
        message.kind, message.connection = kind, connection
    return message


cdef inline void free_message(Message *message) noexcept nogil:
    free(message.data)
    free(message)


cdef inline void push(Queue *queue, Message *message) noexcept nogil:
    """The queue owns the message from here on."""
    cdef uint64_t one = 1
    cdef bint was_empty
    message.next = NULL
    pthread_mutex_lock(&queue.mutex)
    was_empty = queue.first == NULL
    if was_empty:
        queue.first = message
    else:
        queue.last.next = message
    queue.last = message
    pthread_mutex_unlock(&queue.mutex)
    if was_empty:
        write(queue.wake_fd, &one, sizeof(one))


cdef inline Message *take_all(Queue *queue) noexcept nogil:
    """The messages in order, linked by ``next``; the caller owns them."""
    cdef uint64_t count
    cdef Message *first
    read(queue.wake_fd, &count, sizeof(count))
    pthread_mutex_lock(&queue.mutex)
    first = queue.first
    queue.first = queue.last = NULL
    pthread_mutex_unlock(&queue.mutex)
    return first


cdef inline bint is_empty(Queue *queue) noexcept nogil:
    cdef bint empty
    pthread_mutex_lock(&queue.mutex)
    empty = queue.first == NULL
    pthread_mutex_unlock(&queue.mutex)
    return empty

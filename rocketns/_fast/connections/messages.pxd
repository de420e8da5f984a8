"""What reactors and control send each other: queues with a mutex, and an eventfd that wakes the receiver.

Whoever holds a message owns it: the sender until `push`, the queue, then whoever took it.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

from posix.unistd cimport read, write

from rocketns._fast.connections.hosts cimport Queued
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

# What a message says. In brackets: its `number` or `data`. `moment` is named where a kind uses it.
cdef enum MessageKind:
    # From a reactor to control.
    # With OPENED come, each behind a 0: the peer's address; the socket's, if a PROXY header announced the other;
    # and the certificate, if its names are proven.
    OPENED = 1  # a connection [number: that of its host; data: as above], `moment` 1 with TLS, above it its listener
    FRAME = 2  # a request [number: 1 beyond the rate of its host; data: the frame, or its header if it is beyond]
    CLOSED = 3  # a connection that was OPENED [number: an Ending]
    REFUSED = 4  # one that ended before it was OPENED [number: an Ending; data: its address, 0, a reason or nothing]
    TLS_WANTED = 25  # a connection begins with TLS, and there is no context
    DELIVERED = 20  # the peer took the answers that a REPLY asked about
    LOOKED_UP = 23  # a connection's first lookup at this reactor [number: language code or -1], `moment` its version
    # To a reactor, from control or from another reactor.
    CONTEXT_CHANGED = 6  # to the handshake thread: control has a context, or knows that there is none
    REPLY = 7  # [number: requests that are done; data: answers], `moment` of the bits and the number below
    END = 8  # close after the unsent answers
    ABORT = 9  # close at once
    CLOSE_IDLE = 10  # close the connections that are idle at `moment`, in milliseconds
    RESUME = 11  # control caught up: stalled connections may hand over frames again
    STOP = 12
    MOVE = 14  # a connection of another thread, which control does not know [data: the Connection]
    APPLIED = 24  # all frames have taken effect: lookups wait no longer
    SHED = 21  # close connections of this reactor: too many bytes are held [number: kind of bytes]

# The bits of a REPLY's `moment`. Above them is the generation of the policy that lets the connection's lookups pass, or
# 0.
cdef enum:
    REPLY_AWAITS_DELIVERY = 1  # DELIVERED is wanted
    REPLY_TO_BROKER = 2  # a broker registered from the connection
    REPLY_GENERATION_SHIFT = 2

cdef enum:
    OPENED_LISTENER_SHIFT = 1  # in `moment`

cdef struct Message:
    Queued queued  # in a Queue; then, at control, in the turns of its host: HOSTS where it is nobody's
    MessageKind kind
    uint64_t connection
    int number
    int64_t moment
    uint8_t *data
    size_t size

# Any number of senders, one receiver. `wake_fd` is fixed, and a system call at either end is safe on any thread.
cdef struct Queue:
    pthread_mutex_t mutex
    Message *first  # under the mutex
    Message *last  # under the mutex
    int wake_fd


cdef inline Message *new_message(MessageKind kind, uint64_t connection, size_t size) noexcept nogil:
    """Any thread. A message with room for so many bytes of data; NULL where there is no memory."""
    cdef Message *message = <Message *>calloc(1, sizeof(Message))
    if message == NULL:
        return NULL
    message.kind, message.connection, message.size = kind, connection, size
    if size:
        message.data = <uint8_t *>malloc(size)
        if message.data == NULL:
            free(message)
            return NULL
    return message


cdef inline void free_message(Message *message) noexcept nogil:
    """Any thread that owns the message."""
    free(message.data)
    free(message)


cdef inline Message *following(const Message *message) noexcept nogil:
    """The owner only. The next one of `drain`; NULL behind the last."""
    return <Message *>message.queued.next


cdef inline void push(Queue *queue, Message *message) noexcept nogil:
    """Any thread. The queue owns the message from here on.

    Only the message that finds the queue empty wakes the receiver: it takes all messages at once.
    """
    cdef uint64_t one = 1
    cdef bint was_empty
    message.queued.next = NULL
    pthread_mutex_lock(&queue.mutex)
    was_empty = queue.first == NULL
    if was_empty:
        queue.first = message
    else:
        queue.last.queued.next = &message.queued
    queue.last = message
    pthread_mutex_unlock(&queue.mutex)
    if was_empty:
        write(queue.wake_fd, &one, sizeof(one))


cdef inline Message *drain(Queue *queue) noexcept nogil:
    """The receiver only. The messages in order, see `following`; the caller owns them.

    The wake-up is read before the messages are taken. The other way round, a message that came in between would find
    the queue empty and write a wake-up, and this read would swallow it. Now it costs one needless wake-up at most.
    """
    cdef uint64_t count
    cdef Message *first
    read(queue.wake_fd, &count, sizeof(count))
    pthread_mutex_lock(&queue.mutex)
    first = queue.first
    queue.first = queue.last = NULL
    pthread_mutex_unlock(&queue.mutex)
    return first


cdef inline bint is_empty(Queue *queue) noexcept nogil:
    """Any thread."""
    cdef bint empty
    pthread_mutex_lock(&queue.mutex)
    empty = queue.first == NULL
    pthread_mutex_unlock(&queue.mutex)
    return empty

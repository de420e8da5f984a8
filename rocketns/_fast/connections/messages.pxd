"""What reactors and control send each other, and the lists in which it waits.

Whoever has a message owns it: the sender until `push`, the queue, then whoever took it.

Work that waits, by host: hosts take turns, and what waits of a host keeps its order. So a host that queues much waits
for itself. The same ring has messages to control, handshakes, and connections that wait until control caught up. All
functions of rings and lists are for the thread that owns them.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc

from posix.unistd cimport read, write

from rocketns._fast.connections.hosts cimport HOSTS
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock

# Links are in one list at most. ``owner`` is what the link is a part of; NULL while it is in no list.
cdef struct Link:
    Link *next
    Link *previous
    void *owner

cdef struct Line:
    Link *first
    Link *last


cdef inline void enqueue(Line *line, Link *link, void *owner) noexcept nogil:
    link.next, link.previous, link.owner = NULL, line.last, owner
    if line.last == NULL:
        line.first = link
    else:
        line.last.next = link
    line.last = link


cdef inline void unlink(Line *line, Link *link) noexcept nogil:
    if link.previous == NULL:
        line.first = link.next
    else:
        link.previous.next = link.next
    if link.next == NULL:
        line.last = link.previous
    else:
        link.next.previous = link.previous
    link.owner = NULL


cdef inline void *dequeue(Line *line) noexcept nogil:
    """The owner of the first link, which is in no list then; NULL where the list is empty."""
    cdef void *owner = NULL
    if line.first != NULL:
        owner = line.first.owner
        unlink(line, line.first)
    return owner

# What a message says. In brackets: its `number` or `data`. `moment` is named where a kind uses it.
cdef enum MessageKind:
    # From a reactor to control.
    # With OPENED come, each behind a 0: the peer's address; the socket's, if a PROXY header announced the other;
    # and the certificate, if its names are proven.
    OPENED = 1  # a connection [data: as above], `moment` 1 with TLS, above it its listener
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
    RESUME = 11  # control caught up: stalled connections may hand over frames, and deferred lookups may be answered
    STOP = 12
    MOVE = 14  # the `Connection.message` of one that control does not know: it comes from another thread
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
    Link link
    MessageKind kind
    uint16_t host  # HOSTS where it is nobody's
    uint64_t connection  # its id
    int64_t number
    int64_t moment
    uint8_t *data
    size_t size

# Any number of senders, one receiver. `wake_fd` is fixed, and a system call at either end is safe on any thread.
cdef struct Queue:
    pthread_mutex_t mutex
    Line messages  # under the mutex
    int wake_fd

cdef struct HostQueue:
    Link link  # in `HostRing.turns` while something of the host waits
    Line messages

cdef struct HostRing:
    HostQueue hosts[HOSTS + 1]
    Line turns  # hosts in their order
    uint32_t served  # in the present turn


cdef inline Message *new_message(MessageKind kind, const Message *sender, size_t size) noexcept nogil:
    """Any thread. A message with room for so many bytes of data; NULL where there is no memory.

    ``sender`` is the `Connection.message` of the one that it is about; NULL where it is about none.
    """
    cdef Message *message = <Message *>calloc(1, sizeof(Message))
    if message == NULL:
        return NULL
    message.kind, message.host, message.size = kind, HOSTS, size
    if sender != NULL:
        message.host, message.connection = sender.host, sender.connection
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


cdef inline void push(Queue *queue, Message *message) noexcept nogil:
    """Any thread. The queue owns the message from here on.

    Only the message that finds the queue empty wakes the receiver: it takes all messages at once.
    """
    cdef uint64_t one = 1
    cdef bint was_empty
    pthread_mutex_lock(&queue.mutex)
    was_empty = queue.messages.first == NULL
    enqueue(&queue.messages, &message.link, message)
    pthread_mutex_unlock(&queue.mutex)
    if was_empty:
        write(queue.wake_fd, &one, sizeof(one))


cdef inline void drain(Queue *queue, Line *messages) noexcept nogil:
    """The receiver only. Move the messages into a list that is empty; the caller owns them.

    The wake-up is read before the messages are taken. The other way round, a message that came in between would find
    the queue empty and write a wake-up, and this read would swallow it. Now it costs one needless wake-up at most.
    """
    cdef uint64_t count
    read(queue.wake_fd, &count, sizeof(count))
    pthread_mutex_lock(&queue.mutex)
    messages[0] = queue.messages
    queue.messages.first = queue.messages.last = NULL
    pthread_mutex_unlock(&queue.mutex)


cdef inline bint is_empty(Queue *queue) noexcept nogil:
    """Any thread."""
    cdef bint empty
    pthread_mutex_lock(&queue.mutex)
    empty = queue.messages.first == NULL
    pthread_mutex_unlock(&queue.mutex)
    return empty


cdef inline void join_ring(HostRing *ring, Message *message) noexcept nogil:
    """Wait behind the others of its host, unless it waits already."""
    cdef HostQueue *queue = &ring.hosts[message.host]
    if message.link.owner == NULL:
        enqueue(&queue.messages, &message.link, message)
        if queue.link.owner == NULL:
            enqueue(&ring.turns, &queue.link, queue)


cdef inline void leave_ring(HostRing *ring, Message *message) noexcept nogil:
    """Wait no longer."""
    cdef HostQueue *queue = &ring.hosts[message.host]
    if message.link.owner != NULL:
        unlink(&queue.messages, &message.link)
        if queue.messages.first == NULL:
            unlink(&ring.turns, &queue.link)


cdef inline Message *next_turn(HostRing *ring, uint32_t most) noexcept nogil:
    """The first of the host whose turn it is, which waits no longer; NULL if nothing waits. A turn has ``most``."""
    cdef HostQueue *queue
    cdef Message *message
    if ring.turns.first == NULL:
        return NULL
    queue = <HostQueue *>ring.turns.first.owner
    message = <Message *>dequeue(&queue.messages)
    ring.served += 1
    if ring.served == most or queue.messages.first == NULL:
        ring.served = 0
        unlink(&ring.turns, &queue.link)
        if queue.messages.first != NULL:
            enqueue(&ring.turns, &queue.link, queue)
    return message

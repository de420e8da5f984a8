"""The connection table of a reactor: how connections enter it and leave it.

The table is an array. A connection's id holds its index and a generation, which is never used twice. A message to a
closed connection finds another generation at the index, or none, and is dropped.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, strdup, strlen

from rocketns._fast.system.atomics cimport add, load
from rocketns._fast.connections.connection cimport drop_input, drop_output
from rocketns._fast.system.hashing cimport HashKey, hash_bytes
from rocketns._fast.connections.holders cimport count_held
from rocketns._fast.connections.hosts cimport ADDRESS_ROOM, host_hash, host_number, write_peer
from rocketns._fast.connections.messages cimport (
    ADOPTED, CLOSED, FAILED, HANDOFF, OPENED, PEER_CLOSED, MessageKind, Message, new_message, push
)
from rocketns._fast.reactor.reactor_state cimport TABLE_MAX, Shared, assert_reactor, find_connection, id_of
from rocketns._fast.system.sockets cimport (
    EPOLL_CTL_ADD,
    EPOLL_CTL_DEL,
    EPOLLIN,
    MSG_DONTWAIT,
    MSG_PEEK,
    close,
    epoll_ctl,
    epoll_event,
    recv,
)
from rocketns._fast.reactor.stalls cimport unstall
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_unlock

cdef enum:
    TABLE_MIN = 64


cdef void remove_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Take it off the table, the totals, and the lists of holders and of stalled connections."""
    cdef int kind
    assert_reactor(reactor, "remove_connection")
    for kind in range(2):
        count_held(&reactor.holders[kind], kind, connection, 0, reactor.now_ms)
    if connection.is_stalled:
        unstall(reactor, connection)
    pthread_mutex_lock(&reactor.table_mutex)
    reactor.connections[connection.index] = NULL
    pthread_mutex_unlock(&reactor.table_mutex)
    reactor.free_indexes[reactor.free_count] = connection.index
    reactor.free_count += 1
    add(&reactor.carried, -1)


cdef void free_connection(Connection *connection) noexcept nogil:
    """The owner of the connection only. It is in no table; its descriptor is closed or belongs to another thread."""
    drop_input(connection)
    drop_output(connection)
    free(connection.close_notice)
    free(connection.address)
    free(connection)


cdef void release_connection(Shared *shared, Connection *connection, int ending) noexcept nogil:
    """The owner of the connection only. It is in no table. Close it, send control its close notice, free it."""
    close(connection.fd)
    add(&shared.connections, -1)
    if connection.close_notice != NULL:
        connection.close_notice.number = ending
        push(&shared.to_control, connection.close_notice)
        connection.close_notice = NULL
    free_connection(connection)


cdef void close_connection(Reactor *reactor, Connection *connection, int ending) noexcept nogil:
    """Reactor thread only. The connection is gone afterwards."""
    remove_connection(reactor, connection)
    release_connection(reactor.shared, connection, ending)


cdef int64_t lookups_of(Reactor *reactor, uint64_t id) noexcept nogil:
    """Any thread. The connection's lookups that reactors answered; -1 where this reactor does not have it."""
    cdef Connection *connection
    cdef int64_t answered = -1
    pthread_mutex_lock(&reactor.table_mutex)
    connection = find_connection(reactor, id)
    if connection != NULL:
        answered = load(&connection.answered)
    pthread_mutex_unlock(&reactor.table_mutex)
    return answered


cdef bint make_table_room(Reactor *reactor) noexcept nogil:
    """Reactor thread only. Room for one more connection; False where there is no memory or the table is full."""
    cdef uint32_t room
    cdef Connection **connections
    cdef uint32_t *free_indexes
    if reactor.free_count or reactor.table_count < reactor.table_room:
        return True
    room = max(reactor.table_room * 2, <uint32_t>TABLE_MIN)
    if room > TABLE_MAX:
        return False
    pthread_mutex_lock(&reactor.table_mutex)
    connections = <Connection **>realloc(reactor.connections, room * sizeof(Connection *))
    if connections != NULL:
        reactor.connections = connections
    pthread_mutex_unlock(&reactor.table_mutex)
    free_indexes = <uint32_t *>realloc(reactor.free_indexes, room * sizeof(uint32_t))
    if free_indexes != NULL:
        reactor.free_indexes = free_indexes
    if connections == NULL or free_indexes == NULL:
        return False
    reactor.table_room = room
    return True


cdef bint insert_connection(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Give it an id and wait for its input; False where there is no room or no memory."""
    cdef epoll_event event
    assert_reactor(reactor, "insert_connection")
    if not make_table_room(reactor):
        return False
    reactor.generation += 1
    connection.generation = reactor.generation
    connection.armed = EPOLLIN
    pthread_mutex_lock(&reactor.table_mutex)
    if reactor.free_count:
        reactor.free_count -= 1
        connection.index = reactor.free_indexes[reactor.free_count]
    else:
        connection.index = reactor.table_count
        reactor.table_count += 1
    reactor.connections[connection.index] = connection
    pthread_mutex_unlock(&reactor.table_mutex)
    add(&reactor.carried, 1)
    event.events, event.data.u64 = EPOLLIN, id_of(reactor, connection)
    if epoll_ctl(reactor.epoll_fd, EPOLL_CTL_ADD, connection.fd, &event) == 0:
        return True
    remove_connection(reactor, connection)
    return False


cdef Connection *add_connection(Reactor *reactor, int fd) noexcept nogil:
    """Reactor thread only. A new connection; NULL, and the descriptor closed, where there is no room."""
    cdef Connection *connection = <Connection *>calloc(1, sizeof(Connection))
    if connection == NULL:
        close(fd)
        add(&reactor.shared.connections, -1)
        return NULL
    connection.fd, connection.is_new, connection.ending = fd, True, FAILED
    connection.active_ms = reactor.now_ms
    connection.idle_ms_max = load(&reactor.shared.idle_ms_max)
    if not insert_connection(reactor, connection):
        release_connection(reactor.shared, connection, FAILED)
        return NULL
    return connection


cdef uint64_t rated_host(Reactor *reactor, MessageKind kind, const char *address) noexcept nogil:
    """Reactor thread only. The host whose rate counts: that of the socket, unless only trusted proxies announce hosts."""
    cdef const HashKey *key = &reactor.shared.rates.key
    cdef const char *announced_by
    if kind != ADOPTED or reactor.shared.limits.trusts_announced:
        return host_hash(address, key)
    announced_by = address + strlen(address) + 1
    return hash_bytes(<const uint8_t *>announced_by, strlen(announced_by), key)


cdef bint report_opened(Reactor *reactor, Connection *connection, MessageKind kind, const char *address) noexcept nogil:
    """Reactor thread only. Tell control of a plain connection and its peer; False where there is no memory.

    ``kind`` is OPENED, or ADOPTED where a PROXY header announced the address. Then the socket's host is behind it.

    The close notice is made here, so its allocation cannot fail later. Both are pushed by this thread to one queue, so
    control sees OPENED before any frame of the connection, and CLOSED after the last.
    """
    cdef uint64_t id = id_of(reactor, connection)
    cdef Message *message = new_message(kind, id)
    cdef size_t length = strlen(address), told = length
    if kind == ADOPTED:
        told += 1 + strlen(address + length + 1)
    connection.close_notice = new_message(CLOSED, id)
    if message != NULL:
        message.data = <uint8_t *>malloc(told + 1)
    if message == NULL or message.data == NULL or connection.close_notice == NULL:
        free(message)
        free(connection.close_notice)
        connection.close_notice = NULL
        return False
    memcpy(message.data, address, told)
    message.size = told
    message.number = connection.host = host_number(address, &reactor.shared.routes.key)
    connection.rated = rated_host(reactor, kind, address)
    if reactor.shared.counts_clients or (kind == ADOPTED and reactor.shared.limits.trusts_announced):
        connection.address = strdup(address)
        connection.address_hash = hash_bytes(<const uint8_t *>address, length, &reactor.shared.routes.key)
    push(&reactor.shared.to_control, message)
    return True


cdef bint hand_off(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Hand a connection, of which nothing was read, to control's loop; False = no memory."""
    cdef Message *message = new_message(HANDOFF, 0)
    if message == NULL:
        return False
    epoll_ctl(reactor.epoll_fd, EPOLL_CTL_DEL, connection.fd, NULL)
    message.number = connection.fd
    push(&reactor.shared.to_control, message)
    remove_connection(reactor, connection)
    free_connection(connection)
    return True


cdef bint detect_plain(Reactor *reactor, Connection *connection) noexcept nogil:
    """Reactor thread only. Look at the first byte of a new connection. True: it is plain, and still this reactor's.

    False: nothing came yet, or it was handed to control's loop, or it was closed.
    """
    cdef uint8_t first
    cdef char address[ADDRESS_ROOM]
    cdef ssize_t got = recv(connection.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT)
    if got < 0 and (errno == EAGAIN or errno == EINTR):
        return False
    if got == 1 and first == 0 and reactor.shared.limits.takes_plain:
        connection.is_new, connection.is_detecting = False, True
        write_peer(connection.fd, address, &connection.peer)
        if report_opened(reactor, connection, OPENED, address):
            return True
    elif got == 1 and hand_off(reactor, connection):
        return False
    close_connection(reactor, connection, PEER_CLOSED if got == 0 else FAILED)
    return False

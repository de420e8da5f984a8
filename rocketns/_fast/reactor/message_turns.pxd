"""The messages to control that wait for delivery. Hosts take turns, and the messages of a host keep their order.

So who opens and closes connections faster than control can take note of them waits for himself. All functions are for
control.
"""

from libc.stdint cimport uint16_t, uint32_t

from rocketns._fast.connections.holders cimport HOSTS
from rocketns._fast.connections.messages cimport Message

cdef enum:
    QUEUES = HOSTS + 1  # the last one has the messages that are nobody's
    OF_HOST_AT_ONCE = 8  # a turn's messages

cdef struct MessageTurns:
    Message *first[QUEUES]
    Message *last[QUEUES]
    uint16_t ring[QUEUES]  # the hosts that have messages, in the order of their turns
    uint32_t ring_start
    uint32_t ring_size
    uint32_t delivered  # in the present turn


cdef inline void queue_message(MessageTurns *turns, Message *message) noexcept nogil:
    cdef uint16_t host = message.host
    message.next = NULL
    if turns.first[host] == NULL:
        turns.first[host] = message
        turns.ring[(turns.ring_start + turns.ring_size) % QUEUES] = host
        turns.ring_size += 1
    else:
        turns.last[host].next = message
    turns.last[host] = message


cdef inline Message *next_message(MessageTurns *turns) noexcept nogil:
    """The caller owns it; NULL where none waits."""
    cdef uint16_t host
    cdef Message *message
    if turns.ring_size == 0:
        return NULL
    host = turns.ring[turns.ring_start]
    message = turns.first[host]
    turns.first[host] = message.next
    turns.delivered += 1
    if message.next == NULL or turns.delivered == OF_HOST_AT_ONCE:
        turns.delivered = 0
        turns.ring_start = (turns.ring_start + 1) % QUEUES
        turns.ring_size -= 1
        if message.next != NULL:
            turns.ring[(turns.ring_start + turns.ring_size) % QUEUES] = host
            turns.ring_size += 1
    return message

"""What compiled callers may use of delivery.pyx."""

from rocketns._fast.connections.messages cimport Message

cdef int deliver_one(Message *message, receiver) except -1

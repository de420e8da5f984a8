"""What compiled callers may use of frames.pyx."""

from rocketns._fast.connections.messages cimport Message

cdef object frame_of(Message *message)

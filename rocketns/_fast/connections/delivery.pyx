"""The messages of reactors to control, as Python gets them."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free

from rocketns._fast.connections.messages cimport (
    CLOSED, FRAME, LOOKED_UP, OPENED, OPENED_LISTENER_SHIFT, REFUSED, TAKEN, TLS_WANTED, Message, MessageKind, free_message
)

cdef enum:
    COPIED_BYTES_MAX = 64 * 1024  # a larger frame is not copied: Python gets a view of its memory


cdef class Frame:
    """A large frame, read-only; its memory is freed with the last view of it."""

    cdef uint8_t *data
    cdef Py_ssize_t size

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 1, flags)


cdef object frame_of(Message *message):
    """Control only. The frame of a message; the memory of a large one goes from the message to the view."""
    cdef Frame frame
    if message.size <= COPIED_BYTES_MAX:
        return PyBytes_FromStringAndSize(<char *>message.data, <Py_ssize_t>message.size)
    frame = Frame.__new__(Frame)
    frame.data, frame.size = message.data, <Py_ssize_t>message.size
    message.data = NULL
    return memoryview(frame)


cdef tuple parts_of_opened(bytes content, int64_t listener):
    """The address, the socket's host or None, the certificate, and the number of the listener."""
    address, socket_host, certificate = content.split(b"\0", 2)
    return text_of(address), text_of(socket_host) or None, certificate, listener


cdef str text_of(bytes text):
    return text.decode("ascii", "replace")


cdef int deliver_one(Message *message, receiver) except -1:
    """Control only. The message is freed before the receiver is called, which may raise."""
    cdef MessageKind kind = message.kind
    cdef uint64_t connection = message.connection
    cdef int number = message.number
    cdef int64_t moment = message.moment
    cdef object content = None
    if kind == FRAME:
        content = frame_of(message)
    elif kind == OPENED or kind == REFUSED:
        content = message.data[:message.size]
    free_message(message)
    if kind == FRAME:
        receiver.frame(connection, content, number != 0, moment)
    elif kind == OPENED:
        receiver.opened(connection, number, moment & 1 != 0, parts_of_opened(content, moment >> OPENED_LISTENER_SHIFT))
    elif kind == CLOSED:
        receiver.closed(connection, number)
    elif kind == TAKEN:
        receiver.answers_taken(connection)
    elif kind == LOOKED_UP:
        receiver.looked_up(connection, number, moment)
    elif kind == REFUSED:
        receiver.refused(number, *content.decode("ascii", "replace").split("\0", 1))
    elif kind == TLS_WANTED:
        receiver.tls_wanted()
    return 0

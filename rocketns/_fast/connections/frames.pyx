"""The frames that reactors hand over, as Python sees them."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.stdlib cimport free

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

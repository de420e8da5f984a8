"""Reads the column ``topics`` of a journal's record, as the journal writes it. Everything else is declined.

A start reads millions of them. tests/fast/test_registered_topics.py compares it with orjson and Python.
"""

from cpython.bytes cimport PyBytes_AsStringAndSize, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

cdef enum:
    BEFORE_NAME = 6  # {"t":"
    NUMBERS_MAX = 64  # bytes of ,"r":8,"w":8,"p":6,"s":0
    CONTROL_MAX = 0x1F


cdef inline const uint8_t *end_of_name(const uint8_t *at, const uint8_t *end) noexcept:
    """The quote behind a name without escapes and control characters. NULL: declined."""
    while at < end and at[0] != c'"':
        if at[0] == c'\\' or at[0] <= CONTROL_MAX:
            return NULL
        at += 1
    return at if at < end else NULL


def read_queues(bytes line not None, Py_ssize_t start, read_numbers):
    cdef char *text
    cdef Py_ssize_t size
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef const uint8_t *name
    cdef const uint8_t *numbers
    cdef const uint8_t *last_at = NULL
    cdef Py_ssize_t length, last_length = -1
    cdef dict queues = {}
    cdef object last = None
    PyBytes_AsStringAndSize(line, &text, &size)
    if start < 0 or start > size:
        return None
    at = <const uint8_t *>text + start
    end = <const uint8_t *>text + size
    while True:
        if end - at < BEFORE_NAME or memcmp(at, b'{"t":"', BEFORE_NAME) != 0:
            return None
        name = at + BEFORE_NAME
        numbers = end_of_name(name, end)
        if numbers == NULL:
            return None
        at = <const uint8_t *>memchr(numbers, c'}', min(end - numbers, <Py_ssize_t>NUMBERS_MAX))
        if at == NULL:
            return None
        length = at - numbers
        if length != last_length or memcmp(numbers, last_at, length) != 0:
            last = read_numbers(PyBytes_FromStringAndSize(<const char *>numbers, length))
            if last is None:
                return None
            last_at, last_length = numbers, length
        try:
            queues[PyUnicode_DecodeUTF8(<const char *>name, numbers - name, NULL)] = last
        except UnicodeDecodeError:
            return None
        at += 1
        if end - at >= 1 and at[0] == c',':
            at += 1
        else:
            break
    return queues if end - at == 3 and memcmp(at, b"]}\n", 3) == 0 else None

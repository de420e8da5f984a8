"""Passes over JSON text before it is read, and over its values afterwards.

Over text: how many values there are; and the form without blanks and with quotes around numeric keys. Both skip strings
as standard JSON has them, and take a few nanoseconds a byte whatever the bytes are.

Over values, where there are many: the longest name, and values that are wanted as text.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t

from rocketns._fast.codec.compact_json cimport Cursor, cursor_of, left, scan_long, skip_plain
from rocketns._fast.codec.replies cimport put
from rocketns._fast.system.stable_abi cimport writable


cdef inline bint is_mark(uint8_t byte) noexcept nogil:
    return byte == c',' or byte == c':' or byte == c'[' or byte == c'{'


cdef void skip_string(Cursor *cursor) noexcept nogil:
    """From behind a quote to behind the next, or to the end."""
    while cursor.at < cursor.end:
        skip_plain(cursor, False)
        if cursor.at >= cursor.end:
            return
        if cursor.at[0] == c'"':
            cursor.at += 1
            return
        cursor.at += 2 if cursor.at[0] == c'\\' and left(cursor) > 1 else 1


def count_values(const unsigned char[::1] text, Py_ssize_t most):
    cdef Cursor cursor = cursor_of(text)
    cdef Py_ssize_t marks = 0
    cdef uint8_t byte
    while cursor.at < cursor.end and marks <= most:
        byte = cursor.at[0]
        cursor.at += 1
        if byte == c'"':
            skip_string(&cursor)
        else:
            marks += is_mark(byte)
    return marks


cdef inline void skip_blanks(Cursor *cursor) noexcept nogil:
    while cursor.at < cursor.end and (cursor.at[0] == c' ' or c'\t' <= cursor.at[0] <= c'\n' or cursor.at[0] == c'\r'):
        cursor.at += 1


cdef bint read_numeric_key(Cursor *cursor, Cursor *key) noexcept nogil:
    """Blanks, a whole number and a colon. Where it is something else the cursor does not move."""
    cdef Cursor ahead = cursor[0]
    cdef int64_t ignored
    skip_blanks(&ahead)
    key.at = ahead.at
    if not scan_long(&ahead, &ignored):
        return False
    key.end = ahead.at
    skip_blanks(&ahead)
    if ahead.at >= ahead.end or ahead.at[0] != c':':
        return False
    cursor.at = ahead.at
    return True


cdef inline bint is_structural(uint8_t byte) noexcept nogil:
    return is_mark(byte) or byte == c']' or byte == c'}'


def compact(const unsigned char[::1] text):
    cdef Cursor cursor = cursor_of(text), key
    cdef const uint8_t *start
    cdef bytes written = PyBytes_FromStringAndSize(NULL, 2 * text.shape[0])  # a key stands between two more bytes
    cdef uint8_t *first = <uint8_t *>writable(written)
    cdef uint8_t *out = first
    cdef Py_ssize_t keys = 0
    while cursor.at < cursor.end:
        start = cursor.at
        skip_blanks(&cursor)
        if start < cursor.at:  # blanks between two words part them
            if out > first and cursor.at < cursor.end and not (is_structural(out[-1]) or is_structural(cursor.at[0])):
                out = put(out, start, <size_t>(cursor.at - start))
            continue
        cursor.at += 1
        out[0] = start[0]
        out += 1
        if start[0] == c'"':
            skip_string(&cursor)
            out = put(out, start + 1, <size_t>(cursor.at - start) - 1)
        elif (start[0] == c'{' or start[0] == c',') and read_numeric_key(&cursor, &key):
            out[0] = c'"'
            out = put(out + 1, key.at, left(&key))
            out[0] = c'"'
            out += 1
            keys += 1
    return None if keys == 0 and out - first == text.shape[0] else first[:out - first]


def longest(dict texts not None):
    cdef Py_ssize_t found = 0
    for key in texts:
        found = max(found, len(<str>key))
    return found


cpdef object shown(value, int levels, leaf):
    kind = type(value)
    if kind is str or kind is int:
        return value
    if levels < 0:
        raise RecursionError
    if isinstance(value, dict):
        return {
            key: shown(item, levels - 1, leaf) for key, item in (<dict>value).items() if item is not None
        }
    if isinstance(value, list):
        return [shown(item, levels - 1, leaf) for item in <list>value]
    return leaf(value)

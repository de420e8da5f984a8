"""Scanning JSON as fastjson2 writes it: without blanks, escapes, fractions and exponents. Everything else is declined.

Every function takes a cursor, reads from ``at`` up to but not including ``end``, and moves ``at`` behind what it took.
False means declined; the cursor is then anywhere within its bounds and of no more use.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy

cdef extern from * nogil:
    """
    #define ROCKETNS_ONE_BYTES 0x0101010101010101ULL
    """
    const uint64_t ONE_BYTES "ROCKETNS_ONE_BYTES"
    uint64_t first_bit "__builtin_ctzll"(uint64_t word)  # of those that are 1

cdef struct Cursor:
    const uint8_t *at
    const uint8_t *end

cdef struct Text:
    const uint8_t *start
    size_t length

cdef enum:
    WORD_BYTES = 8
    LONG_DIGITS_MAX = 19
    SKIP_DEPTH_MAX = 8

# How much of an object or an array is read.
cdef enum Reading:
    NOT_BEGUN = 0
    BEGUN = 1
    COMPLETE = 2
    DECLINED = 3


cdef inline Cursor cursor_of(const unsigned char[::1] text) noexcept:
    """A cursor over the whole text."""
    cdef Cursor cursor
    cursor.at = cursor.end = NULL
    if text.shape[0]:  # an empty view has no first element whose address could be taken
        cursor.at = &text[0]
        cursor.end = cursor.at + text.shape[0]
    return cursor


cdef inline size_t left(const Cursor *cursor) noexcept nogil:
    return <size_t>(cursor.end - cursor.at)


cdef inline bint take(Cursor *cursor, uint8_t byte) noexcept nogil:
    if cursor.at >= cursor.end or cursor.at[0] != byte:
        return False
    cursor.at += 1
    return True


cdef inline bint match_bytes(Cursor *cursor, const char *expected, size_t length) noexcept nogil:
    if left(cursor) < length or memcmp(cursor.at, expected, length) != 0:
        return False
    cursor.at += length
    return True


cdef inline bint is_text(const Text *text, const char *expected, size_t length) noexcept nogil:
    return text.length == length and memcmp(text.start, expected, length) == 0


cdef inline bint same_text(const Text *one, const Text *other) noexcept nogil:
    return one.length == other.length and memcmp(one.start, other.start, one.length) == 0


cdef inline bint is_ascii(const Text *text) noexcept nogil:
    cdef size_t index
    cdef uint8_t seen = 0
    for index in range(text.length):
        seen |= text.start[index]
    return seen < 0x80


cdef inline uint64_t zero_bytes(uint64_t word) noexcept nogil:
    """Bits of the bytes that are 0. Beyond the first such byte there may be bits of others."""
    return (word - ONE_BYTES) & ~word & 0x80 * ONE_BYTES


cdef inline uint64_t special_bytes(uint64_t word, bint is_printable) noexcept nogil:
    """Bits of the bytes that end a string, begin an escape, or are control characters; where it is to be printable,
    also of those that are not ASCII. Beyond the first such byte there may be bits of others.
    """
    cdef uint64_t found = (word - 0x20 * ONE_BYTES) & ~word & 0x80 * ONE_BYTES
    found |= zero_bytes(word ^ c'"' * ONE_BYTES) | zero_bytes(word ^ c'\\' * ONE_BYTES)
    if is_printable:
        found |= word & 0x80 * ONE_BYTES | zero_bytes(word ^ 0x7F * ONE_BYTES)
    return found


cdef inline void skip_plain(Cursor *cursor, bint is_printable) noexcept nogil:
    """Moves to the first of the `special_bytes`, or to the end."""
    cdef uint64_t word, found
    while left(cursor) >= WORD_BYTES:
        memcpy(&word, cursor.at, WORD_BYTES)
        found = special_bytes(word, is_printable)
        if found:
            cursor.at += first_bit(found) // 8
            return
        cursor.at += WORD_BYTES
    if left(cursor):
        word = 0  # a special byte is behind those that are left
        memcpy(&word, cursor.at, left(cursor))
        cursor.at += first_bit(special_bytes(word, is_printable)) // 8


cdef inline bint scan_text(Cursor *cursor, Text *text) noexcept nogil:
    """A string without escapes. The caller checks that it is UTF-8."""
    if not take(cursor, c'"'):
        return False
    text.start = cursor.at
    skip_plain(cursor, False)
    text.length = <size_t>(cursor.at - text.start)
    return take(cursor, c'"')


cdef inline bint scan_long(Cursor *cursor, int64_t *value) noexcept nogil:
    """An integer of at most 19 digits above -2**63. The caller checks what follows, such as a fraction."""
    cdef bint negative = take(cursor, c'-')
    cdef const uint8_t *first = cursor.at
    cdef uint64_t magnitude = 0
    cdef size_t digits
    while cursor.at < cursor.end and c'0' <= cursor.at[0] <= c'9':
        if cursor.at - first == LONG_DIGITS_MAX:
            return False
        magnitude = magnitude * 10 + (cursor.at[0] - c'0')
        cursor.at += 1
    digits = <size_t>(cursor.at - first)
    if digits == 0 or (first[0] == c'0' and (digits > 1 or negative)) or magnitude > <uint64_t>INT64_MAX:
        return False
    value[0] = -<int64_t>magnitude if negative else <int64_t>magnitude
    return True


cdef inline bint scan_int(Cursor *cursor, int32_t *value) noexcept nogil:
    cdef int64_t wide
    if not scan_long(cursor, &wide) or wide < INT32_MIN or wide > INT32_MAX:
        return False
    value[0] = <int32_t>wide
    return True


cdef inline bint next_item(Cursor *cursor, Reading *reading, uint8_t opening, uint8_t closing) noexcept nogil:
    """Moves to the next item between two brackets. False: ``reading`` is COMPLETE or DECLINED."""
    cdef bint is_first = reading[0] == NOT_BEGUN
    reading[0] = DECLINED
    if is_first and not take(cursor, opening):
        return False
    if take(cursor, closing):
        reading[0] = COMPLETE
        return False
    if not is_first and not take(cursor, c','):
        return False
    reading[0] = BEGUN
    return True


cdef inline bint next_member(Cursor *cursor, Reading *reading, Text *key) noexcept nogil:
    """The next key of an object, up to its colon. False: ``reading`` is COMPLETE or DECLINED."""
    if not next_item(cursor, reading, c'{', c'}'):
        return False
    if scan_text(cursor, key) and take(cursor, c':'):
        return True
    reading[0] = DECLINED
    return False


cdef inline bint skip_value(Cursor *cursor, int depth, bint is_read_again) noexcept nogil:
    """Any value, as strictly as if it were wanted. ``depth`` is the number of objects and arrays around it here.
    Declines a string beyond ASCII, because it would have to be checked for UTF-8; not where the value ``is_read_again``
    by a parser that does so. Then a number may be a key, too.
    """
    cdef Text text
    cdef int64_t ignored
    cdef uint8_t byte
    if cursor.at >= cursor.end or depth > SKIP_DEPTH_MAX:
        return False
    byte = cursor.at[0]
    if byte == c'"':
        return scan_text(cursor, &text) and (is_read_again or is_ascii(&text))
    if byte == c'{':
        return skip_object(cursor, depth + 1, is_read_again)
    if byte == c'[':
        return skip_array(cursor, depth + 1, is_read_again)
    if byte == c't':
        return match_bytes(cursor, "true", 4)
    if byte == c'f':
        return match_bytes(cursor, "false", 5)
    if byte == c'n':
        return match_bytes(cursor, "null", 4)
    return scan_long(cursor, &ignored)


cdef inline bint skip_object(Cursor *cursor, int depth, bint is_read_again) noexcept nogil:
    cdef Reading reading = NOT_BEGUN
    cdef Text key
    cdef int64_t ignored
    cdef bint is_key
    while next_item(cursor, &reading, c'{', c'}'):
        if is_read_again and left(cursor) and cursor.at[0] != c'"':
            is_key = scan_long(cursor, &ignored)
        else:
            is_key = scan_text(cursor, &key) and (is_read_again or is_ascii(&key))
        if not is_key or not take(cursor, c':') or not skip_value(cursor, depth, is_read_again):
            return False
    return reading == COMPLETE


cdef inline bint skip_array(Cursor *cursor, int depth, bint is_read_again) noexcept nogil:
    cdef Reading reading = NOT_BEGUN
    while next_item(cursor, &reading, c'[', c']'):
        if not skip_value(cursor, depth, is_read_again):
            return False
    return reading == COMPLETE

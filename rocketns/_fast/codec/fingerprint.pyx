"""A keyed hash of a registration's body, by which a repeated one is recognised.

The hash of hashing.pxd, whose bound holds for whoever does not know the key. The key is made when the process
starts, and no hash leaves the process.

A 5.x broker writes the current time into topicConfigSerializeWrapper.mappingDataVersion.timestamp of every
registration. No name server reads that member, so its digits are left out of the hash. They are left out only where
everything before them was scanned as JSON without blanks and escapes, which every parser reads in the same way, and
where they are as many digits as the current time has. Bodies that differ in such digits alone are decoded alike.
"""

from libc.stdint cimport uint64_t, uint8_t

import secrets

from rocketns._fast.codec.compact_json cimport (
    NOT_BEGUN, Cursor, Reading, Text, is_ascii, is_text, left, next_member, skip_value
)
from rocketns._fast.system.hashing cimport BLOCK_WORDS, UniversalKey, add_bytes, next_state

cdef enum:
    STAMP_DIGITS = 13  # of an epoch in milliseconds, until the year 2286
    STAMP_WITHIN_BYTES = 1024  # brokers write the stamp within the first 250 bytes

cdef UniversalKey KEY


def _make_key():
    for place in range(BLOCK_WORDS):
        KEY.words[place] = secrets.randbits(64)
    KEY.point = secrets.randbelow(2**61 - 1)


_make_key()


cdef bint enter_member(Cursor *cursor, const char *name, size_t length) noexcept nogil:
    """Moves from the start of an object to the value of its first member of this name."""
    cdef Text key
    cdef Reading reading = NOT_BEGUN
    while next_member(cursor, &reading, &key):
        if is_text(&key, name, length):
            return True
        if not is_ascii(&key) or not skip_value(cursor, 0):
            return False
    return False


cdef bint is_stamp(const Cursor *cursor) noexcept nogil:
    """Whether the value at the cursor is a current time in milliseconds, and the whole value."""
    cdef size_t place
    if left(cursor) <= STAMP_DIGITS or cursor.at[0] == c'0':
        return False
    for place in range(STAMP_DIGITS):
        if not c'0' <= cursor.at[place] <= c'9':
            return False
    return cursor.at[STAMP_DIGITS] == c',' or cursor.at[STAMP_DIGITS] == c'}'


cdef size_t stamp_start(const uint8_t *body, size_t length) noexcept nogil:
    """Where the digits of mappingDataVersion.timestamp begin; 0 where that is not certain."""
    cdef Cursor cursor
    cursor.at, cursor.end = body, body + min(length, <size_t>STAMP_WITHIN_BYTES)
    if (
        enter_member(&cursor, "topicConfigSerializeWrapper", 27)
        and enter_member(&cursor, "mappingDataVersion", 18)
        and enter_member(&cursor, "timestamp", 9)
        and is_stamp(&cursor)
    ):
        return <size_t>(cursor.at - body)
    return 0


cdef uint64_t hash_registration(const uint8_t *body, size_t length, const UniversalKey *key) noexcept nogil:
    """Control only. The place of the digits, and then the bytes before and after them."""
    cdef size_t start = stamp_start(body, length), end = start + STAMP_DIGITS
    cdef uint64_t state = next_state(1, start, key.point)
    if start == 0:
        return add_bytes(state, body, length, key)
    return add_bytes(add_bytes(state, body, start, key), body + end, length - end, key)


def stamp_bounds(const unsigned char[::1] body):
    cdef size_t length = <size_t>body.shape[0], start = 0 if length == 0 else stamp_start(&body[0], length)
    return (start, start + STAMP_DIGITS) if start else (length, length)


def fingerprint(const unsigned char[::1] body):
    return 0 if body.shape[0] == 0 else hash_registration(&body[0], <size_t>body.shape[0], &KEY)

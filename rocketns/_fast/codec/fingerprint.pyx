"""A keyed 64-bit hash of a registration's body, by which a repeated one is recognised.

The hash of hashing.pxd in four lanes, which hide the latency of the multiplications: about 35 GB/s.

A 5.x broker writes the current time into topicConfigSerializeWrapper.mappingDataVersion.timestamp of every
registration. No name server reads that member, so its digits are left out of the hash. They are left out only where
everything before them was scanned as JSON without blanks and escapes, which every parser reads in the same way, and
where they are as many digits as the current time has. Bodies that differ in such digits alone are decoded alike.
"""

import secrets

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from rocketns._fast.codec.compact_json cimport (
    MEMBER,
    Cursor,
    Text,
    is_ascii,
    is_text,
    left,
    next_member,
    skip_value,
    take,
)
from rocketns._fast.system.hashing cimport HashKey, fold, hash_bytes

cdef enum:
    STEP_BYTES = 64
    STAMP_DIGITS = 13  # of an epoch in milliseconds, until the year 2286
    STAMP_WITHIN_BYTES = 1024  # brokers write the stamp within the first 250 bytes

cdef HashKey KEY
KEY.first, KEY.second = secrets.randbits(64) | 1, secrets.randbits(64) | 1


cdef uint64_t hash_body(const uint8_t *data, size_t length, const HashKey *key) noexcept nogil:
    """Reads data[0] to data[length - 1]."""
    cdef uint64_t words[8]
    cdef uint64_t second = key.second
    cdef uint64_t a, b, c, d
    cdef size_t left = length
    # The seeds differ, so the lane of a word affects the hash. Not an array: they have to stay in registers.
    a, b = fold(key.first ^ 1, second), fold(key.first ^ 2, second)
    c, d = fold(key.first ^ 3, second), fold(key.first ^ 4, second)
    while left >= STEP_BYTES:
        memcpy(words, data, STEP_BYTES)
        a = fold(words[0] ^ second, words[1] ^ a)
        b = fold(words[2] ^ second, words[3] ^ b)
        c = fold(words[4] ^ second, words[5] ^ c)
        d = fold(words[6] ^ second, words[7] ^ d)
        data += STEP_BYTES
        left -= STEP_BYTES
    a, c = fold(a ^ key.first, b ^ second), fold(c ^ key.first, d ^ second)
    a = fold(fold(a ^ key.first, c ^ second) ^ key.first, hash_bytes(data, left, key) ^ second)
    return fold(a ^ key.first, <uint64_t>length ^ second)


cdef bint enter_member(Cursor *cursor, const char *name, size_t length) noexcept nogil:
    """Moves from the start of an object to the value of its first member of this name."""
    cdef Text key
    cdef bint first = True
    if not take(cursor, c'{'):
        return False
    while next_member(cursor, &first, &key) == MEMBER:
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


cdef uint64_t hash_registration(const uint8_t *body, size_t length, const HashKey *key) noexcept nogil:
    """Both parts' lengths are in their hashes, so the place of the stamp counts."""
    cdef size_t start = stamp_start(body, length), end = start + STAMP_DIGITS
    if start == 0:
        return hash_body(body, length, key)
    return fold(hash_body(body, start, key) ^ key.first, hash_body(body + end, length - end, key) ^ key.second)


def fingerprint(const unsigned char[::1] body):
    return 0 if body.shape[0] == 0 else hash_registration(&body[0], <size_t>body.shape[0], &KEY)

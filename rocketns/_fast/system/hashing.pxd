"""Keyed hashes of bytes: who does not know the key cannot choose colliding topics or bodies.

Each 16 bytes are folded into the state by one multiplication of 64 by 64 bits; about 10 GB/s, 10 ns for a topic.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stdint.h>
    static inline uint64_t rocketns_fold(uint64_t one, uint64_t other) {
        unsigned __int128 product = (unsigned __int128)one * other;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    """
    uint64_t fold "rocketns_fold"(uint64_t one, uint64_t other) noexcept nogil

cdef struct HashKey:
    uint64_t first
    uint64_t second

cdef enum:
    FOLD_BYTES = 16


cdef inline uint64_t hash_bytes(const uint8_t *data, size_t length, const HashKey *key) noexcept nogil:
    """Reads data[0] to data[length - 1]."""
    cdef uint64_t words[2]
    cdef uint64_t state = key.first
    cdef size_t left = length
    while left >= FOLD_BYTES:
        memcpy(words, data, FOLD_BYTES)
        state = fold(words[0] ^ key.second, words[1] ^ state)
        data += FOLD_BYTES
        left -= FOLD_BYTES
    words[0] = words[1] = 0
    if left:
        memcpy(words, data, left)
    state = fold(words[0] ^ key.second, words[1] ^ state)
    return fold(state ^ key.first, <uint64_t>length ^ key.second)

"""SipHash-1-3, the keyed hash of topics and addresses in tables: who does not know the key cannot choose collisions.

A pseudorandom function by Aumasson and Bernstein ("SipHash: a fast short-input PRF", INDOCRYPT 2012), made against just
that attack. With 1 round a word and 3 at the end it is what the tables of CPython, Ruby and Rust use. tests/fast
compares it with CPython's.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t, uint8_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "hashing.pxd reads words as little-endian machines have them"
    #endif
    #define ROCKETNS_ROTATE(word, bits) (((word) << (bits)) | ((word) >> (64 - (bits))))
    #define ROCKETNS_SIP_ROUND(a, b, c, d) do { \\
        a += b; b = ROCKETNS_ROTATE(b, 13); b ^= a; a = ROCKETNS_ROTATE(a, 32); \\
        c += d; d = ROCKETNS_ROTATE(d, 16); d ^= c; \\
        a += d; d = ROCKETNS_ROTATE(d, 21); d ^= a; \\
        c += b; b = ROCKETNS_ROTATE(b, 17); b ^= c; c = ROCKETNS_ROTATE(c, 32); \\
    } while (0)
    /* The last word has the bytes that are left and, at the top, the length modulo 256. Eight bytes or more are left of
       most topics, so the last eight bytes of the data, shifted, are those that are left. */
    static inline uint64_t rocketns_last_word(const uint8_t *data, size_t length) {
        size_t left = length % 8;
        uint64_t word = 0;
        if (left != 0 && length >= 8) {
            memcpy(&word, data + length - 8, 8);
            word >>= 8 * (8 - left);
        } else {
            for (size_t place = 0; place < left; place++)
                word |= (uint64_t)data[place] << (8 * place);
        }
        return word | (uint64_t)length << 56;
    }
    static inline uint64_t rocketns_siphash(const uint8_t *data, size_t length, uint64_t key0, uint64_t key1) {
        uint64_t a = key0 ^ 0x736f6d6570736575, b = key1 ^ 0x646f72616e646f6d;
        uint64_t c = key0 ^ 0x6c7967656e657261, d = key1 ^ 0x7465646279746573;
        uint64_t word;
        for (size_t at = 0; at + 8 <= length; at += 8) {
            memcpy(&word, data + at, 8);
            d ^= word;
            ROCKETNS_SIP_ROUND(a, b, c, d);
            a ^= word;
        }
        word = rocketns_last_word(data, length);
        d ^= word;
        ROCKETNS_SIP_ROUND(a, b, c, d);
        a ^= word;
        c ^= 0xff;
        ROCKETNS_SIP_ROUND(a, b, c, d);
        ROCKETNS_SIP_ROUND(a, b, c, d);
        ROCKETNS_SIP_ROUND(a, b, c, d);
        return a ^ b ^ c ^ d;
    }
    """
    uint64_t siphash "rocketns_siphash"(const uint8_t *data, size_t length, uint64_t key0, uint64_t key1) noexcept nogil

# Two random words, fixed while the process runs.
cdef struct HashKey:
    uint64_t first
    uint64_t second


cdef inline uint64_t hash_bytes(const uint8_t *data, size_t length, const HashKey *key) noexcept nogil:
    """Any thread. Reads data[0] to data[length - 1]."""
    return siphash(data, length, key.first, key.second)

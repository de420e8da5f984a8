"""SipHash-2-4 with 128 bits: who does not know the key can neither predict a digest nor find two inputs with the same.

A pseudorandom function by Aumasson and Bernstein ("SipHash: a fast short-input PRF", INDOCRYPT 2012), written after the
authors' reference implementation (github.com/veorq/SipHash), with its rounds: 2 a word and 4 at the end, twice for 128
bits. The hash of tables, in hashing.pxd, whose round this is, has fewer of them and 64 bits. tests/fast has the authors'
test vectors.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from rocketns._fast.system.hashing cimport HashKey  # its C code has the round, and comes first

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    static inline void rocketns_digest(const uint8_t *data, size_t length, const uint64_t key[2], uint64_t out[2]) {
        uint64_t a = key[0] ^ 0x736f6d6570736575, b = key[1] ^ 0x646f72616e646f6d ^ 0xee;
        uint64_t c = key[0] ^ 0x6c7967656e657261, d = key[1] ^ 0x7465646279746573;
        uint64_t word, last = (uint64_t)length << 56;
        size_t at = 0;
        int round;
        for (; at + 8 <= length; at += 8) {
            memcpy(&word, data + at, 8);
            d ^= word;
            ROCKETNS_SIP_ROUND(a, b, c, d);
            ROCKETNS_SIP_ROUND(a, b, c, d);
            a ^= word;
        }
        for (size_t place = 0; at + place < length; place++)
            last |= (uint64_t)data[at + place] << (8 * place);
        d ^= last;
        ROCKETNS_SIP_ROUND(a, b, c, d);
        ROCKETNS_SIP_ROUND(a, b, c, d);
        a ^= last;
        c ^= 0xee;
        for (round = 0; round < 4; round++)
            ROCKETNS_SIP_ROUND(a, b, c, d);
        out[0] = a ^ b ^ c ^ d;
        b ^= 0xdd;
        for (round = 0; round < 4; round++)
            ROCKETNS_SIP_ROUND(a, b, c, d);
        out[1] = a ^ b ^ c ^ d;
    }
    """
    void siphash128 "rocketns_digest"(const uint8_t *data, size_t length, const uint64_t *key,
                                      uint64_t *out) noexcept nogil

# Two random words.
cdef struct DigestKey:
    uint64_t words[2]

cdef struct Digest:
    uint64_t words[2]


cdef inline Digest digest_of(const uint8_t *data, size_t length, const DigestKey *key) noexcept nogil:
    """Any thread. Reads data[0] to data[length - 1]."""
    cdef Digest digest
    siphash128(data, length, key.words, digest.words)
    return digest

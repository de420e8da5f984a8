"""SipHash-1-3, the keyed hash of topics and addresses in tables: who does not know the key cannot choose collisions.

A pseudorandom function by Aumasson and Bernstein ("SipHash: a fast short-input PRF", INDOCRYPT 2012), made against just
that attack. With 1 round a word and 3 at the end it is what the tables of CPython, Ruby and Rust use. tests/fast
compares it with CPython's.

A universal hash of megabytes: two bodies that were chosen without the key are rarely equal, and the bound is proven.

Each 4,096 bytes become 128 bits by NH, and these are the coefficients of a polynomial modulo 2**61 - 1, of which the
value at a secret point is the hash. UMAC (RFC 4418) and VHASH (Dai and Krovetz, 2007) are made so.

- NH (Black, Halevi, Krawczyk, Krovetz, Rogaway: "UMAC", CRYPTO 1999) with words of 64 bits gives two different blocks
  of equal length the same 128 bits with a probability of 2**-64 at most.
- Two different polynomials of degree n have the same value at n points at most (Carter and Wegman, 1981).

A block has three coefficients. So two bodies of n KiB have the same hash with a probability of (n + 10) / 2**61 at most:
2**-50 for 1 MiB. A first coefficient of 1 and the length, which is the last, make bodies of different length
different polynomials.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint64_t, uint8_t
from libc.string cimport memcpy, memset

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

cdef enum:
    BLOCK_WORDS = 512
    BLOCK_BYTES = 8 * BLOCK_WORDS
    STEP_BYTES = 32  # of a block at a time: a shorter last block is filled up with zeros to a multiple of it

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #define ROCKETNS_PRIME ((UINT64_C(1) << 61) - 1)
    static inline uint64_t rocketns_word(const uint8_t *at) {
        uint64_t word;
        memcpy(&word, at, 8);
        return word;
    }
    static inline unsigned __int128 rocketns_product(const uint8_t *words, const uint64_t *key) {
        return (unsigned __int128)(rocketns_word(words) + key[0]) * (rocketns_word(words + 8) + key[1]);
    }
    /* The sum of products of words, each plus a word of the key. Two sums, so that their additions do not wait for each
       other, and four products a round, which compilers keep in registers: 24 GB/s instead of 15. */
    static inline void rocketns_nh(const uint8_t *block, size_t size, const uint64_t *key, uint64_t sum[2]) {
        unsigned __int128 even = 0, odd = 0;
        size_t at = 0;
        for (; at + 64 <= size; at += 64, key += 8) {
            even += rocketns_product(block + at, key);
            odd += rocketns_product(block + at + 16, key + 2);
            even += rocketns_product(block + at + 32, key + 4);
            odd += rocketns_product(block + at + 48, key + 6);
        }
        if (at < size) {
            even += rocketns_product(block + at, key);
            odd += rocketns_product(block + at + 16, key + 2);
        }
        even += odd;
        sum[0] = (uint64_t)even;
        sum[1] = (uint64_t)(even >> 64);
    }
    /* state * point + coefficient modulo the prime. All three are below 2**61. */
    static inline uint64_t rocketns_next_state(uint64_t state, uint64_t coefficient, uint64_t point) {
        unsigned __int128 value = (unsigned __int128)state * point + coefficient;
        uint64_t folded = ((uint64_t)value & ROCKETNS_PRIME) + (uint64_t)(value >> 61);
        return folded >= ROCKETNS_PRIME ? folded - ROCKETNS_PRIME : folded;
    }
    """
    void nh "rocketns_nh"(const uint8_t *block, size_t size, const uint64_t *key, uint64_t *total) noexcept nogil
    uint64_t next_state "rocketns_next_state"(uint64_t state, uint64_t coefficient, uint64_t point) noexcept nogil

# Random. `point` is below 2**61 - 1.
cdef struct UniversalKey:
    uint64_t words[BLOCK_WORDS]
    uint64_t point


cdef inline uint64_t add_block(
    uint64_t state, const uint8_t *block, size_t size, const UniversalKey *key
) noexcept nogil:
    """Any thread. A multiple of STEP_BYTES; its 128 bits are three coefficients of at most 43."""
    cdef uint64_t total[2]
    nh(block, size, key.words, total)
    state = next_state(state, total[0] >> 21, key.point)
    state = next_state(state, total[1] >> 21, key.point)
    return next_state(state, ((total[0] & 0x1FFFFF) << 21) | (total[1] & 0x1FFFFF), key.point)


cdef inline uint64_t add_bytes(
    uint64_t state, const uint8_t *data, size_t length, const UniversalKey *key
) noexcept nogil:
    """Any thread. The state, at first 1, with these bytes and their length. Reads data[0] to data[length - 1]."""
    cdef uint64_t last[BLOCK_WORDS]
    cdef size_t left = length, filled
    while left >= BLOCK_BYTES:
        state = add_block(state, data, BLOCK_BYTES, key)
        data += BLOCK_BYTES
        left -= BLOCK_BYTES
    if left:
        filled = (left + STEP_BYTES - 1) & ~<size_t>(STEP_BYTES - 1)
        memset(<uint8_t *>last + filled - STEP_BYTES, 0, STEP_BYTES)
        memcpy(last, data, left)
        state = add_block(state, <const uint8_t *>last, filled, key)
    return next_state(state, length, key.point)

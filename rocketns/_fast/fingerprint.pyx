"""A keyed 64-bit hash of bytes, at about 10 GB/s: what a repeated registration is known by (see hashing.pxd)."""

import secrets

from rocketns._fast.hashing cimport HashKey, hash_bytes

cdef HashKey KEY
KEY.first, KEY.second = secrets.randbits(64) | 1, secrets.randbits(64) | 1


def fingerprint(const unsigned char[::1] data):
    return 0 if data.shape[0] == 0 else hash_bytes(&data[0], <size_t>data.shape[0], &KEY)

"""The compiled parts of access control, as no Python of the product calls them: digests, and the table of decisions."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from rocketns._fast.access.networks cimport Networks, Peer, flags_of as flags_of_all, read_ip
from rocketns._fast.access.policy cimport DECISIONS_MAX, Digest, LookupKeys, digest_lookup, is_remembered, remember
from rocketns._fast.codec.requests cimport Layout, RouteRequest, follows_layout, learn_layout, recognise_request
from rocketns._fast.codec.wire cimport HEAD_BYTES
from rocketns._fast.system.hashing cimport HashKey, hash_bytes


cdef bytes as_bytes(const Digest *digest):
    return (<const uint8_t *>digest)[:sizeof(Digest)]


cdef Digest as_digest(bytes data) except *:
    cdef Digest digest
    if len(data) != sizeof(Digest):
        raise ValueError(data)
    memcpy(&digest, <const uint8_t *>data, sizeof(Digest))
    return digest


def flags_of(Networks networks not None, bytes address not None):
    """The flags of all networks that contain the address of 16 bytes, together."""
    assert len(address) == 16
    return flags_of_all(&networks.table, <const uint8_t *>address, False)


def siphash(bytes data):
    """The hash of tables, with a key of zeros."""
    cdef HashKey key
    key.first = key.second = 0
    return hash_bytes(data, len(data), &key)


def lookup_digest(const unsigned char[::1] frame, bytes keys, const unsigned char[::1] learnt=None):
    """The digest of a lookup, None where it has none; with ``learnt``, where it has not the layout of that lookup."""
    cdef RouteRequest request
    cdef Layout layout
    cdef LookupKeys pair
    cdef Digest digest
    if len(keys) != sizeof(LookupKeys) or frame.shape[0] < HEAD_BYTES:
        raise ValueError(keys)
    memcpy(&pair, <const uint8_t *>keys, sizeof(LookupKeys))
    if learnt is None:
        if not recognise_request(&frame[0], <size_t>frame.shape[0], &request):
            return None
    elif (
        not recognise_request(&learnt[0], <size_t>learnt.shape[0], &request)
        or not learn_layout(&learnt[0], <size_t>learnt.shape[0], &request, &layout)
        or not follows_layout(&frame[0], <size_t>frame.shape[0], &layout, &request)
    ):
        return None
    if not digest_lookup(&request, &pair, &digest):
        return None
    return as_bytes(&digest)


def peer_of(bytes address):
    """The 16 bytes of the IP address in host:port; None where there is none."""
    cdef Peer peer
    read_ip(address, len(address.rpartition(b":")[0]), &peer)
    return peer.address[:sizeof(peer.address)] if peer.has_address else None


cdef class DecisionTable:
    """A table of decisions of its own."""

    cdef Digest *decisions

    def __cinit__(self):
        self.decisions = <Digest *>calloc(DECISIONS_MAX, sizeof(Digest))
        if self.decisions == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.decisions)

    def remember(self, bytes digest):
        cdef Digest words = as_digest(digest)
        remember(self.decisions, &words)

    def __contains__(self, bytes digest):
        cdef Digest words = as_digest(digest)
        return is_remembered(self.decisions, &words)

"""How control puts a policy in force, and the signed lookups that it has allowed under it."""

from libc.string cimport memcpy

from os import urandom

from rocketns._fast.codec.requests cimport recognise_request
from rocketns._fast.codec.wire cimport HEAD_BYTES
from rocketns._fast.system.threads cimport add, pthread_mutex_lock, pthread_mutex_unlock, store


cdef void remember(Digest *decisions, const Digest *digest) noexcept nogil:
    """Control only. Where the bucket is full, the digest's own bits choose which of the others it replaces.

    Those of earlier policies are replaced like the others: nobody has their key any more.
    """
    cdef Digest *bucket = <Digest *>bucket_of(decisions, digest)
    cdef Digest *free_entry = &bucket[digest.words[1] & (BUCKET_DECISIONS - 1)]
    cdef int index
    if is_remembered(decisions, digest):
        return
    for index in range(BUCKET_DECISIONS):
        if load(&bucket[index].words[0]) == 0 and load(&bucket[index].words[1]) == 0:
            free_entry = &bucket[index]
            break
    store(&free_entry.words[0], digest.words[0])
    store(&free_entry.words[1], digest.words[1])


cdef int put_in_force(Policy *policy, Networks networks, bint guards_lookups, bint closes_strangers) except -1:
    """Control only. With keys of its own, so nothing that was remembered before is found.

    The caller keeps ``networks`` until the next call has returned: a reactor reads them under the mutex.
    """
    cdef bytes secret = urandom(sizeof(LookupKeys))
    pthread_mutex_lock(&policy.mutex)
    policy.guards_lookups, policy.networks = guards_lookups, &networks.table
    memcpy(&policy.keys, <const uint8_t *>secret, sizeof(LookupKeys))
    store(&policy.closes_strangers, closes_strangers)
    add(&policy.generation, 1)
    pthread_mutex_unlock(&policy.mutex)
    return 0


cdef bint remember_frame(Policy *policy, const uint8_t *frame, size_t size) noexcept:
    """Control only. Remember that lookups like this one are allowed; False if a reactor may not answer them.

    ``frame`` is whole and well formed as far as `wire.frame_size` tells.
    """
    cdef RouteRequest request
    cdef Digest digest
    if not policy.guards_lookups or size < HEAD_BYTES:
        return False
    if not recognise_request(frame, size, &request) or not digest_lookup(&request, &policy.keys, &digest):
        return False
    remember(policy.decisions, &digest)
    return True


cdef void refresh_policy(Policy *policy, PolicyCopy *copy) noexcept nogil:
    """Reactor thread only. Learn the policy in force, without judging a connection by it."""
    if copy.generation == load(&policy.generation):
        return
    pthread_mutex_lock(&policy.mutex)
    copy_policy(policy, copy)
    pthread_mutex_unlock(&policy.mutex)

"""How control puts a policy in force, and lets signed lookups pass under it."""

from libc.string cimport memcpy
from os import urandom

from rocketns._fast.access.decisions cimport digest_lookup, new_decisions, remember
from rocketns._fast.codec.route_request cimport RouteRequest, recognise_request
from rocketns._fast.codec.wire cimport HEAD_BYTES
from rocketns._fast.system.atomics cimport add, store
from rocketns._fast.system.keyed_digest cimport Digest
from rocketns._fast.system.threads cimport pthread_mutex_lock, pthread_mutex_unlock


cdef int put_in_force(Policy *policy, Networks networks, bint guards_lookups, bint closes_strangers) except -1:
    """Control only. With keys of its own, so nothing that was remembered before is found. All that can fail comes first.

    The caller keeps ``networks`` until the next call has returned: a reactor reads them under the mutex.
    """
    cdef bytes secret = urandom(sizeof(LookupKeys))
    cdef Decisions *decisions = policy.decisions
    if guards_lookups and decisions == NULL:
        decisions = new_decisions()
        if decisions == NULL:
            raise MemoryError
    pthread_mutex_lock(&policy.mutex)
    policy.guards_lookups, policy.networks, policy.decisions = guards_lookups, &networks.table, decisions
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


cdef void know_policy(Policy *policy, KnownPolicy *known) noexcept nogil:
    """Reactor thread only. Learn the policy in force, without judging a connection by it."""
    if known.generation == load(&policy.generation):
        return
    pthread_mutex_lock(&policy.mutex)
    copy_policy(policy, known)
    pthread_mutex_unlock(&policy.mutex)

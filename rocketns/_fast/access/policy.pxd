"""The part of the access policy that reactors check, and which generation of it is in force.

A generation is one call of `Reactors.set_access`. Before the first one it is 0: lookups are open to all then, and no
connection is closed for its address.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t

from rocketns._fast.access.decisions cimport Decisions, LookupKeys
from rocketns._fast.access.networks cimport NetworkTable, Networks
from rocketns._fast.system.atomics cimport load
from rocketns._fast.system.threads cimport pthread_mutex_t

# Control writes, reactors read.
cdef struct Policy:
    # Atomic. Raised under the mutex, so whoever holds it sees the fields of that generation.
    int64_t generation
    int64_t closes_strangers
    # Written by reactors. Atomic.
    int64_t strangers_closed
    # Under the mutex, which control holds while it writes them. Control reads them without it.
    pthread_mutex_t mutex
    bint guards_lookups
    const NetworkTable *networks  # NULL: the generation is 0. Whoever calls `put_in_force` keeps them alive
    Decisions *decisions  # NULL until a policy guards lookups; then fixed
    LookupKeys keys

# What a reactor knows of a generation. Its thread only.
cdef struct KnownPolicy:
    int64_t generation
    Decisions *decisions
    LookupKeys keys

cdef int put_in_force(Policy *policy, Networks networks, bint guards_lookups, bint closes_strangers) except -1
cdef bint remember_frame(Policy *policy, const uint8_t *frame, size_t size) noexcept
cdef void know_policy(Policy *policy, KnownPolicy *known) noexcept nogil


cdef inline void copy_policy(const Policy *policy, KnownPolicy *known) noexcept nogil:
    """Reactor thread only, with the mutex."""
    known.generation = load(&policy.generation)
    known.decisions, known.keys = policy.decisions, policy.keys

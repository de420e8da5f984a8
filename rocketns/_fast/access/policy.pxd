"""The part of the access policy that reactors check, and which generation of it is in force.

A generation is one call of `Reactors.set_access`. Before the first one it is 0: lookups are open to all then, and no
connection is closed for its address.

The signed lookups that control has allowed, as digests: control writes, all reactors read, nobody locks.

A decision about a lookup depends on the ext fields and the policy. So its digest is of the bytes of the ext fields, and
the key is drawn again with each policy: what an earlier policy allowed has other digests and is never found again. The
same bytes mean something else in the other form of a header, which has a key of its own.

A digest has two words, which are written one after the other. A reactor that reads meanwhile may see the first word of
one digest with the second of another. That allows a lookup only if its own digest has just these two words. The words
are those of a pseudorandom function under two keys that nobody outside the process knows, so the chance is 2**-128 for
a pair, and no peer can raise it. Reading a word itself is atomic.
"""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint64_t, uint8_t

from rocketns._fast.access.networks cimport Networks, NetworkTable
from rocketns._fast.codec.requests cimport RouteRequest
from rocketns._fast.system.hashing cimport HashKey, hash_bytes
from rocketns._fast.system.threads cimport load, pthread_mutex_t

cdef enum:
    # 1 MiB. A client has one for each of its topics. Beyond them, and sooner where many have the same bucket, a new one
    # replaces another, whose lookups then go to control once more.
    DECISIONS_MAX = 65_536  # a power of two, like the next
    BUCKET_DECISIONS = 4
    DIGESTED_BYTES_MAX = 4096  # of ext fields. Lookups with more are for control

cdef struct Digest:
    int64_t words[2]  # in the table: atomic

# The keys of one policy, for each word: of ext fields in JSON, and in binary headers.
cdef struct LookupKeys:
    HashKey forms[2][2]

cdef void remember(Digest *decisions, const Digest *digest) noexcept nogil


cdef inline bint digest_lookup(
    const RouteRequest *request, const LookupKeys *keys, Digest *digest
) noexcept nogil:
    """Any thread. The digest of a recognised lookup; False where it has no signature, a body, or large ext fields."""
    cdef int word
    if not request.is_signed or request.has_body:
        return False
    if request.ext.length > DIGESTED_BYTES_MAX:
        return False
    for word in range(2):
        digest.words[word] = <int64_t>hash_bytes(
            request.ext.start, request.ext.length, &keys.forms[request.is_binary][word]
        )
    return True


cdef inline const Digest *bucket_of(const Digest *decisions, const Digest *digest) noexcept nogil:
    return &decisions[digest.words[0] & (DECISIONS_MAX - BUCKET_DECISIONS)]


cdef inline bint is_remembered(const Digest *decisions, const Digest *digest) noexcept nogil:
    """Any thread."""
    cdef const Digest *bucket = bucket_of(decisions, digest)
    cdef int index
    for index in range(BUCKET_DECISIONS):
        if load(&bucket[index].words[0]) == digest.words[0] and load(&bucket[index].words[1]) == digest.words[1]:
            return True
    return False

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
    LookupKeys keys
    # Fixed: DECISIONS_MAX. An empty place has two words of 0; that a lookup has this digest has a chance of 2**-128.
    Digest *decisions

# What a reactor knows of a generation. Its thread only.
cdef struct PolicyCopy:
    int64_t generation
    LookupKeys keys

cdef int put_in_force(Policy *policy, Networks networks, bint guards_lookups, bint closes_strangers) except -1
cdef bint remember_frame(Policy *policy, const uint8_t *frame, size_t size) noexcept
cdef void refresh_policy(Policy *policy, PolicyCopy *copy) noexcept nogil


cdef inline bint may_look_up(const Policy *policy, const PolicyCopy *copy, const RouteRequest *request) noexcept nogil:
    """Reactor thread only. Whether control has allowed this lookup of a connection whose lookups are guarded.

    ``copy`` is of the generation that the connection was judged by: if another connection's turn brought a newer one,
    this turn began with `turns.admit`.
    """
    cdef Digest digest
    return digest_lookup(request, &copy.keys, &digest) and is_remembered(policy.decisions, &digest)


cdef inline void copy_policy(const Policy *policy, PolicyCopy *copy) noexcept nogil:
    """Reactor thread only, with the mutex."""
    copy.generation = load(&policy.generation)
    copy.keys = policy.keys

"""How long lookups take, measured in a sample of the loop's rounds.

In a sampled round the clock is read when `epoll_wait` returns, and after each connection's turn. So a lookup's time
begins when its socket was seen to be ready, and ends when its answer was given to the socket. It contains the turns of
the connections before it. All lookups of one turn have the same time. Other rounds read no clock.

About one round in SAMPLED is a sample. The distance varies, so that samples do not fall into step with the requests of
clients. All functions are for the reactor's thread.
"""

from libc.stdint cimport int64_t

from rocketns._fast.reactor.reactor_state cimport LATENCY_BUCKETS, Reactor
from rocketns._fast.system.atomics cimport add
from rocketns._fast.system.sockets cimport monotonic_ns

cdef enum:
    SAMPLED = 64  # a power of two


cdef inline int64_t begin_sample(Reactor *reactor) noexcept nogil:
    """Reactor thread only. The present time in nanoseconds if this round is a sample, and otherwise 0."""
    reactor.rounds_to_sample -= 1
    if reactor.rounds_to_sample > 0:
        return 0
    if not reactor.shared.samples:
        reactor.rounds_to_sample = SAMPLED
        return 0
    reactor.sample_state = reactor.sample_state * 1664525 + 1013904223  # Numerical Recipes; the high bits vary well
    reactor.rounds_to_sample = SAMPLED // 2 + <int>((reactor.sample_state >> 16) % SAMPLED)
    return monotonic_ns()


cdef inline void end_sample(Reactor *reactor, int64_t began_ns, int64_t answered, int64_t absent) noexcept nogil:
    """Reactor thread only. So many lookups, with a route and without, were answered now."""
    cdef int64_t took_ns = monotonic_ns() - began_ns
    cdef int bucket = 0
    while bucket < LATENCY_BUCKETS - 1 and took_ns > reactor.shared.latency_bounds_ns[bucket]:
        bucket += 1
    if answered:
        add(&reactor.latency[0][bucket], answered)
        add(&reactor.latency_ns[0], answered * took_ns)
    if absent:
        add(&reactor.latency[1][bucket], absent)
        add(&reactor.latency_ns[1], absent * took_ns)

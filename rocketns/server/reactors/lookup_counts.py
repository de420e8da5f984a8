"""The route lookups that the reactors answered, counted by topic and client."""

from __future__ import annotations

from rocketns._fast.reactor.reactors import Reactors
from rocketns.protocol.codes import language_name

# Topic, client (with journalLookupClients), language, protocol version, lookups, and those that found no route.
LookupCount = tuple[str | None, str | None, str | None, int | None, int, int]


def drain_lookups(reactors: Reactors) -> tuple[list[LookupCount], LookupCount]:
    """The lookups since the last call, and the sum of those that had no room in the counters."""
    rows, lookups, misses = reactors.drain_lookups()
    counts: list[LookupCount] = [
        (topic, client, language_name(code), version, n, miss) for topic, client, code, version, n, miss in rows
    ]
    return counts, (None, None, None, None, lookups, misses)


def drain_counts(reactors: Reactors, overflow: str) -> list[LookupCount]:
    """The same as one list. The sum has ``overflow`` as topic and as client; it is there only if it counts lookups."""
    rows, (*_, lookups, misses) = drain_lookups(reactors)
    return [*rows, (overflow, overflow, None, None, lookups, misses)] if lookups else rows

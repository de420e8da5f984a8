"""Counts route lookups: how often each topic was asked for in an interval, by which kind of client.

`count` is called for lookups that control answers. `merge` adds those that the reactors counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rocketns.journal.record import OVERFLOW

# Longer text is no topic or language of a real client. It is counted, but not kept.
TOPIC_CHARS_MAX = 255
LANGUAGE_CHARS_MAX = 32


class LookupRow(NamedTuple):
    """The columns of ``lookup``: ``n`` lookups of a topic, of which ``miss`` found no route, with the language and the
    version of the client.
    """

    topic: str | None
    client: str | None
    lang: str | None
    cv: int | None
    n: int
    miss: int


DrainedRow = tuple[str | None, str | None, str | None, int | None, int, int]  # as LookupRow


Key = tuple[str | None, str | None, str | None, int | None]


class LookupCounters:
    """At most ``keys_max`` rows, and one row for the rest. ``by_client``: whether each client has its own rows."""

    def __init__(self, keys_max: int, *, by_client: bool) -> None:
        self._keys_max = keys_max
        self._by_client = by_client
        self._counts: dict[Key, list[int]] = {}
        self._rest = [0, 0]

    def count(self, topic: str | None, client: str | None, language: str | None, version: int, missed: bool) -> None:
        """Count one lookup. ``client`` is ip:port; ``missed``: it was answered "topic not exist"."""
        self._add((topic, client if self._by_client else None, language, version), 1, missed)

    def merge(self, rows: Iterable[DrainedRow]) -> None:
        """Add counters drained elsewhere: (topic, client or None, language or None, version, n, miss) each.

        ``n`` and ``miss`` are what came since the last drain, ``miss`` of ``n`` found no route; ``client`` is ip:port.
        A row may come more than once. A row of `OVERFLOW` sums lookups that its source did not count one by one.
        """
        for topic, client, language, version, n, miss in rows:
            if topic == client == OVERFLOW:
                self._rest[0] += n
                self._rest[1] += miss
            else:
                self._add((topic, client if self._by_client else None, language, version), n, miss)

    def _add(self, key: Key, n: int, miss: int) -> None:
        counts = self._counts.get(key)
        if counts is None:
            topic, _, language, _ = key
            is_long = len(topic or "") > TOPIC_CHARS_MAX or len(language or "") > LANGUAGE_CHARS_MAX
            has_room = not is_long and len(self._counts) < self._keys_max
            counts = self._counts.setdefault(key, [0, 0]) if has_room else self._rest
        counts[0] += n
        counts[1] += miss

    def drain(self) -> list[LookupRow]:
        """All rows since the last call, the row of the rest at the end."""
        rows = [LookupRow(*key, n, miss) for key, (n, miss) in self._counts.items()]
        n, miss = self._rest
        if n:
            rows.append(LookupRow(OVERFLOW, OVERFLOW, None, None, n, miss))
        self._counts, self._rest = {}, [0, 0]
        return rows

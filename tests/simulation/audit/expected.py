"""What an audit should find, computed from what was written down: intervals of members and queues, and windows.

The code shares nothing with the audit's. Times are epoch us.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from tests.simulation.audit.truth import Run, View


class Span(NamedTuple):
    """A name server had the key with the value, in [t1, t2)."""

    ns: str
    key: Hashable
    value: Hashable
    t1: int
    t2: int


class Known(NamedTuple):
    """A run, the time for which its journal shows its state, and how it ended."""

    run: Run
    t1: int
    t2: int
    end: str


def members_of(view: View) -> Mapping[Hashable, Hashable]:
    return dict.fromkeys(view.members, True)


def queues_of(view: View) -> Mapping[Hashable, Hashable]:
    return dict(view.queues)


def spans(known: Known, shown: Callable[[View], Mapping[Hashable, Hashable]]) -> list[Span]:
    """Every stretch in which a key has one value. Of changes in one ms only the last counts."""
    found, since = [], {}
    now: Mapping[Hashable, Hashable] = {}
    for us, view in [*_last_of_each_ms(known), (known.t2, None)]:
        before, now = now, {} if view is None else shown(view)
        gone = [key for key in before if now.get(key) != before[key]]
        found += [Span(known.run.ns, key, before[key], since.pop(key), us) for key in gone]
        for key in [key for key in now if key not in since]:
            since[key] = us
    return found


def _last_of_each_ms(known: Known) -> list[tuple[int, View]]:
    """Views from the beginning of what is known on."""
    views: dict[int, View] = {}
    for view in known.run.views:
        if view.us < known.t2:
            views[max(view.us, known.t1)] = view
    return sorted(views.items())


def joined(rows: Iterable[Span]) -> list[Span]:
    """Stretches that touch and have the same value as one, in order."""
    found: list[Span] = []
    for row in sorted(rows, key=lambda one: (one.ns, repr(one.key), repr(one.value), one.t1)):
        if found and found[-1][:3] == row[:3] and found[-1].t2 == row.t1:
            found[-1] = found[-1]._replace(t2=row.t2)
        else:
            found.append(row)
    return found


class Window(NamedTuple):
    """The name servers whose state is known differ about the key."""

    key: Hashable
    t1: int
    t2: int


def windows(known: Iterable[Known], rows: Iterable[Span], shortest_us: int) -> list[Window]:
    """All windows that last at least this long."""
    known = list(known)
    edges = {one.t1 for one in known} | {one.t2 for one in known}
    of_key: defaultdict[Hashable, list[Span]] = defaultdict(list)
    for row in rows:
        of_key[row.key].append(row)
    found = [window for key, mine in of_key.items() for window in _windows_of(key, mine, known, edges)]
    return sorted((one for one in found if one.t2 - one.t1 >= shortest_us), key=repr)


def _windows_of(key: Hashable, rows: list[Span], known: list[Known], edges: set[int]) -> list[Window]:
    found, since = [], None
    for us in sorted(edges | {row.t1 for row in rows} | {row.t2 for row in rows}):
        values = {_value(one.run.ns, rows, us) for one in known if one.t1 <= us < one.t2}
        if len(values) > 1 and since is None:
            since = us
        elif len(values) <= 1 and since is not None:
            found.append(Window(key, since, us))
            since = None
    return found


def _value(ns: str, rows: list[Span], us: int) -> Hashable:
    return next((row.value for row in rows if row.ns == ns and row.t1 <= us < row.t2), None)

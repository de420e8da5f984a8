"""What each name server showed of a topic on a broker, as points in time, from plain rows of one topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import LOST_RECORDS, NS_ENDINGS, STARTED, WATCHED

Value = tuple[int, int, int]  # r, w, p
VALUE = ("r", "w", "p")
value_of = itemgetter(*VALUE)
# Of several steps at the same time, the one with the highest rank applies.
END_OF_DOUBT, DOUBT, CLOSES, GOES_DOWN, COMES_UP, OPENS = range(6)


class Step(NamedTuple):
    """A change at a name server. ``known`` None: it changes no value, only whether there is ``doubt``."""

    t: int
    rank: int
    cause: str
    known: bool | None = None
    value: Value | None = None
    early: int = 0


class Point(NamedTuple):
    """What a name server shows from ``t`` on: ``known``: whether that is known; ``value``: None if it shows nothing;
    ``sure``: known, and not in doubt. ``early``: by how much earlier an observed change may have come, us."""

    t: int
    known: bool
    value: Value | None
    sure: bool
    cause: str
    early: int

    def changes(self, before: Point | None) -> bool:
        """Whether it shows something else than the point before it."""
        return (self.known, self.value, self.sure) != (before[1:4] if before else (False, None, False))


Key = TypeVar("Key")
# By name server, in the order of time.
Timeline = Mapping[str, Sequence[Point]]


def server_steps(ns_uptime: Iterable[Row]) -> dict[str, list[Step]]:
    """The steps that each key has at a name server, of NS_UPTIME: it shows nothing at first, and is unknown when the
    name server has ended. Without the boots of observers to whom it did not list its topics."""
    steps = defaultdict[str, list[Step]](list)
    for up in ns_uptime:
        if not up["no_topics"]:
            steps[up["ns"]] += [
                Step(up["t1"], COMES_UP, WATCHED if up["observed"] else STARTED, known=True),
                Step(up["t2"], GOES_DOWN, up["end_cause"], known=False),
            ]
    return dict(steps)


def timelines(
    intervals: Iterable[Row], servers: Mapping[str, Sequence[Step]], doubts: Iterable[Row] = ()
) -> dict[str, Timeline]:
    """By broker. From a topic's rows of TOPIC_INTERVALS and TOPIC_DOUBTS, and ``server_steps``."""
    steps = defaultdict[tuple[str, str], list[Step]](list)
    for row in intervals:
        key = row["broker"], row["ns"]
        opened = Step(row["t1"], OPENS, row["cause"], known=True, value=value_of(row), early=row["t1_early"] or 0)
        steps[key].append(opened)
        if row["end_cause"] not in NS_ENDINGS:  # the others end with their name server
            steps[key].append(Step(row["t2"], CLOSES, row["end_cause"], known=True, early=row["t2_early"] or 0))
    brokers = {broker for broker, _ns in steps}
    for row in doubts:
        doubt = [Step(row["t1"], DOUBT, LOST_RECORDS), Step(row["t2"], END_OF_DOUBT, LOST_RECORDS)]
        steps[row["broker"], row["ns"]] += doubt
    return {
        broker: {ns: _points([*steps[broker, ns], *of_server]) for ns, of_server in servers.items()}
        for broker in brokers
    }


def _points(steps: Iterable[Step]) -> list[Point]:
    """One for each time."""
    points: list[Point] = []
    known, value, doubt = False, None, False
    for step in sorted(steps, key=itemgetter(0, 1)):
        if step.known is None:
            doubt = step.rank == DOUBT
        else:
            known, value = step.known, step.value
        if points and points[-1].t == step.t:
            points.pop()
        points.append(Point(step.t, known, value, known and not doubt, step.cause, step.early))
    return points


def in_order(points: Iterable[tuple[Key, Point]]) -> Iterator[tuple[int, list[tuple[Key, Point]]]]:
    """Each time with the points at it."""
    every = sorted(points, key=lambda one: one[1].t)
    return ((t, list(same)) for t, same in groupby(every, key=lambda one: one[1].t))

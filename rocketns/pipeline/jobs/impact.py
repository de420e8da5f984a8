"""Queues that consumers lose or take twice while name servers disagree about a topic.

The job looks at segments whose views differ in their readable queues. The model takes each requested group size, and
gives mean and maximum over all assignments of views to consumers. The real assignment is used where lookups show a
group's members. Queues are those of all views of the segment together. Each distinct shape is computed once.

Limits of the model: all members are assumed to see the same member list. Orderly consumption locks queues at the
broker. POP and broadcasting consumers do not allocate this way. Static topics need the queue mapping.

Which members of which consumer group asked which name server for a topic, from lookups journalled per client.

A consumer of group g looks up its topics and ``%RETRY%g`` over one connection, every POLL_US. A client address that
asks one name server for both is therefore a member of g and has that name server's view of the topic.

Limits. A process with several groups counts for each of them. A producer in the same process as a consumer of other
topics counts as a consumer. Clients that the journal counts under ``*`` are not seen. A client that changes its name
server counts at both until POLL_US after its last lookup at the first. Members behind one address are ordered by port,
while clients order themselves by process.

How unevenly producers write meanwhile. A producer spreads its messages over the write queues of its own view, of
brokers that have a master. Where views differ, brokers that all views contain get more messages than their part of all
queues.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from itertools import accumulate, pairwise, product
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)
from pyspark.sql.types import ArrayType, IntegerType

from rocketns.pipeline.contract.frames import Checkpoint, Row, by_group, columns, conform, frame_of
from rocketns.pipeline.contract.schema import GROUP_MEMBERS, IMBALANCE, IMPACT
from rocketns.pipeline.jobs.allocation import STRATEGIES, Outcome, Shape, model_outcome, real_outcome
from rocketns.pipeline.jobs.topics import MASTER, is_unread, writable_queues

READ = 4  # the bit of ``p`` without which a consumer leaves a broker's queues out
# Read queues of a topic at a name server. A broker may say that it has 2**31 - 1, and each one is looked at.
QUEUES_MAX = 100_000
VIEW = ArrayType(IntegerType())
NESTED = {"view": VIEW, "shape": ArrayType(VIEW)}
# A segment of which at least two views differ: ``names`` (sorted) of the brokers, and the ``shape`` of the views
# (``allocation``). group, choice: a consumer group and the view of each member, ordered by address; null and empty for
# the model.
VIEWS = columns("topic:string t1:long t2:long names:strings shape:shape group:string choice:view", **NESTED)
CASE = ("names", "shape", "choice")
OUTCOMES = columns(
    "names:strings shape:shape choice:view strategy:string c:int assignments:string queues:int capped:boolean "
    "orphaned_mean:double orphaned_max:double orphaned_ids:strings dup_mean:double dup_max:double dup_ids:strings",
    **NESTED,
)


def impact(
    topic_segments: DataFrame,
    group_sizes: Sequence[int],
    checkpoint: Checkpoint,
    group_members: DataFrame,
    system_topics: Set[str] = frozenset(),
) -> DataFrame:
    """IMPACT of TOPIC_SEGMENTS and, for real assignments, GROUP_MEMBERS. ``group_sizes``: numbers of consumers. Without
    the ``system_topics`` that nobody reads.

    A model row needs two consumers, since one alone always agrees with itself. A real row needs the view of every
    member, so there is none while a member asks a name server that was down or had no route.
    """
    work = partial(_views_of_topic, system_topics)
    views = checkpoint(by_group("topic", work, VIEWS, segments=topic_segments, members=group_members))
    sizes = sorted({c for c in group_sizes if c > 1})
    outcomes = _outcomes(views.select(*CASE).distinct().toArrow().to_pylist(), sizes)
    joined = views.join(F.broadcast(frame_of(views.sparkSession, [*outcomes], OUTCOMES)), [*CASE], "inner")
    seconds = (F.col("t2") - F.col("t1")) / 1e6
    of_time = {
        f"{lost}_qs_{how}": F.col(f"{lost}_{how}") * seconds
        for lost, how in product(("orphaned", "dup"), ("mean", "max"))
    }
    return conform(joined.withColumns(of_time), IMPACT)


def _outcomes(cases: Iterable[Row], group_sizes: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Rows of OUTCOMES, of the models and the real assignments. Each distinct shape is computed once."""

    @cache
    def outcome(shape: Shape, choice: Sequence[int], c: int, strategy: str) -> Outcome:
        return real_outcome(shape, choice, strategy) if choice else model_outcome(shape, c, strategy)

    for names, shape, choice in map(itemgetter(*CASE), cases):
        for c, strategy in product([len(choice)] if choice else group_sizes, STRATEGIES):
            found = outcome(tuple(map(tuple, shape)), tuple(choice), c, strategy)
            orphaned, dup = ([f"{names[b]}:{q}" for b, q in lost] for lost in (found.orphaned, found.dup))
            yield (
                names, shape, choice, strategy, c, "real" if choice else "model", found.queues, found.capped,
                found.orphaned_mean, found.orphaned_max, orphaned, found.dup_mean, found.dup_max, dup,
            )  # fmt: skip


class ReadViews(NamedTuple):
    """The brokers (sorted) that any view has queues to read of, the shape of the views, and by name server its view's
    number in it."""

    names: Sequence[str]
    shape: Shape
    view_of: Mapping[str, int]


def read_views(views: Iterable[Row]) -> ReadViews | None:
    """Of the ``views`` of a row of TOPIC_SEGMENTS; None if no two differ, or one has more than QUEUES_MAX read queues.
    An empty view does not count: a running client keeps its last route."""
    read = {
        known["ns"]: {entry["broker"]: entry["r"] for entry in known["view"] if entry["p"] & READ and entry["r"] > 0}
        for known in views
        if known["view"]
    }
    names = sorted({broker for counts in read.values() for broker in counts})
    counted = {ns: tuple(counts.get(name, 0) for name in names) for ns, counts in read.items()}
    shape = sorted(set(counted.values()))
    if len(shape) < 2 or max(map(sum, shape)) > QUEUES_MAX:
        return None
    return ReadViews(names, shape, {ns: shape.index(counts) for ns, counts in counted.items()})


def _views_of_topic(system_topics: Set[str], topic: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of VIEWS. A member counts where it was in the middle of the segment."""
    for segment in () if is_unread(topic, system_topics, rows["members"]) else rows["segments"]:
        views = read_views(segment["views"])
        if views is None:
            continue
        t1, t2 = segment["t1"], segment["t2"]
        differing = {"topic": topic, "t1": t1, "t2": t2, "names": views.names, "shape": views.shape}
        yield {**differing, "choice": ()}
        groups = defaultdict[str, list[tuple[str, int | None]]](list)
        for member in rows["members"]:
            if member["t1"] <= (t1 + t2) // 2 < member["t2"]:
                groups[member["group"]].append((member["client"], views.view_of.get(member["ns"])))
        for group, members in groups.items():
            if all(view is not None for _client, view in members):
                yield {**differing, "group": group, "choice": [view for _client, view in sorted(members)]}


RETRY = "%RETRY%"
POLL_US = 30_000_000  # the client's default pollNameServerInterval


def group_members(callers: DataFrame) -> DataFrame:
    """GROUP_MEMBERS, of CALLERS; empty if lookups were not journalled per client."""
    asked = _asked(callers)
    is_retry = F.col("topic").startswith(RETRY)
    groups = asked.where(is_retry).select(
        "ns",
        "client",
        F.substring(F.col("topic"), len(RETRY) + 1, 1000).alias("group"),
        F.col("t1").alias("in_t1"),
        F.col("t2").alias("in_t2"),
    )
    both = asked.where(~is_retry).join(groups, ["ns", "client"], "inner")
    spans = {"t1": F.greatest("t1", "in_t1"), "t2": F.least("t2", "in_t2")}
    return conform(both.withColumns(spans).where(F.col("t1") < F.col("t2")), GROUP_MEMBERS)


def _asked(callers: DataFrame) -> DataFrame:
    """ns, client, topic, t1, t2 of each named client."""
    one_client = callers.where(F.col("client").contains(":") & F.col("asked"))
    return one_client.groupBy("ns", "client", "topic").agg(F.min("t1").alias("t1"), (F.max("t2") + POLL_US).alias("t2"))


def imbalance(
    topic_segments: DataFrame,
    broker_intervals: Iterable[Row],
    group_members: DataFrame,
    system_topics: Set[str] = frozenset(),
) -> DataFrame:
    """IMBALANCE of TOPIC_SEGMENTS, with the masters from BROKER_INTERVALS. A segment is cut where a master comes or
    goes, and each piece has rows of its own. Where no view has a writable queue, all figures are null. Without the
    ``system_topics`` that none of the GROUP_MEMBERS reads."""
    lives = defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    for row in broker_intervals:
        if row["bid"] == MASTER:
            lives[row["ns"], row["broker"]].append((row["t1"], row["t2"]))
    masters = {key: Lives.of(spans) for key, spans in lives.items()}
    work = partial(_imbalance_of_topic, masters, system_topics)
    return by_group("topic", work, IMBALANCE, segments=topic_segments, members=group_members)


class Lives(NamedTuple):
    """When a broker had a master: its begins in order, the latest end of each and those before, and all times at which
    one began or ended, in order."""

    begins: Sequence[int]
    ends: Sequence[int]
    changes: Sequence[int]

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Lives:
        """From [t1, t2) of each."""
        begins, ends = zip(*sorted(spans), strict=True)
        return cls(begins, list(accumulate(ends, max)), sorted({*begins, *ends}))

    def within(self, t1: int, t2: int) -> Sequence[int]:
        """The changes after t1 and before t2."""
        return self.changes[bisect_right(self.changes, t1) : bisect_left(self.changes, t2)]

    def cover(self, t1: int, t2: int) -> bool:
        """Whether one of them lasts all the time."""
        last = bisect_right(self.begins, t1) - 1
        return last >= 0 and self.ends[last] >= t2


def _imbalance_of_topic(
    masters: Mapping[tuple[str, str], Lives], system_topics: Set[str], topic: str, rows: Mapping[str, Sequence[Row]]
) -> Iterator[Row]:
    """Its rows of IMBALANCE. An empty view does not count: a running client keeps its last route."""
    nobody = Lives((), (), ())
    for segment in () if is_unread(topic, system_topics, rows["members"]) else rows["segments"]:
        used = {
            (known["ns"], entry["broker"]): writable_queues(entry)
            for known in segment["views"]
            for entry in known["view"]
        }
        lives = {key: masters.get(key, nobody) for key in used}
        cuts = {t for key, w in used.items() if w > 0 for t in lives[key].within(segment["t1"], segment["t2"])}
        for t1, t2 in pairwise([segment["t1"], *sorted(cuts), segment["t2"]]):
            writable = {key: w if lives[key].cover(t1, t2) else 0 for key, w in used.items()}
            yield from ({"topic": topic, "t1": t1, "t2": t2, **row} for row in _shares(writable))


def _shares(writable: Mapping[tuple[str, str], int]) -> Iterator[Row]:
    """broker and the figures of IMBALANCE. ``writable``: by name server and broker the write queues of a producer."""
    queues = dict.fromkeys((ns for ns, _broker in writable), 0)
    for (ns, _broker), w in writable.items():
        queues[ns] += w
    weighted = dict.fromkeys((broker for _ns, broker in writable), 0.0)
    most = dict.fromkeys(weighted, 0)
    for (ns, broker), w in writable.items():
        weighted[broker] += w / queues[ns] if queues[ns] else 0.0
        most[broker] = max(most[broker], w)
    no_share = sorted({ns for ns in queues if not queues[ns]})
    every, total = sum(weighted.values()), sum(most.values())
    if not total:
        yield from ({"broker": broker, "no_share_ns": no_share} for broker in most)
        return
    shares = {broker: (weighted[broker] / every, w / total) for broker, w in most.items()}
    tvd = sum(abs(share - fair) for share, fair in shares.values()) / 2
    peak = max(share / fair for share, fair in shares.values() if fair)
    for broker, (share, fair) in shares.items():
        if fair:
            yield {"broker": broker, "share": share, "fair": fair, "tvd": tvd, "peak": peak, "no_share_ns": no_share}

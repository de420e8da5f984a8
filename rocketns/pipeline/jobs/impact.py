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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise, product
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)
from pyspark.sql.types import ArrayType, IntegerType

from rocketns.pipeline.contract.frames import Checkpoint, Row, as_it_is, by_group, columns, conform, frame_of
from rocketns.pipeline.contract.schema import GROUP_MEMBERS, IMBALANCE, IMPACT
from rocketns.pipeline.jobs.allocation import STRATEGIES, model_outcome, real_outcome
from rocketns.pipeline.jobs.topics import WRITE

READ = 4  # the bit of ``p`` without which a consumer leaves a broker's queues out
# Read queues of a topic at a name server. A broker may say that it has 2**31 - 1, and each one is looked at.
QUEUES_MAX = 100_000
SEGMENT = ["t1", "t2", "topic"]  # numbers first: sorting by names takes twice as long, since they often begin alike


# A strategy and ``allocation.Outcome``.
OUTCOME = (
    "strategy:string queues:int capped:boolean orphaned_mean:double orphaned_max:double orphaned:queues "
    "dup_mean:double dup_max:double dup:queues"
)
VIEW = ArrayType(IntegerType())
NESTED = {"view": VIEW, "shape": ArrayType(VIEW), "queues": ArrayType(columns("b:int q:int"))}


def impact(
    read_segments: DataFrame,
    group_sizes: Sequence[int],
    group_members: DataFrame | None = None,
    checkpoint: Checkpoint = as_it_is,
) -> DataFrame:
    """IMPACT of TOPIC_SEGMENTS and, for real assignments, GROUP_MEMBERS. ``group_sizes``: numbers of consumers.

    A model row needs two consumers, since one alone always agrees with itself. A real row needs the view of every
    member, so there is none while a member asks a name server that was down or had no route.
    """
    views = checkpoint(read_views(read_segments))
    rows = _modelled(views, group_sizes)
    return rows if group_members is None else rows.unionByName(_real(views, group_members))


def read_views(topic_segments: DataFrame) -> DataFrame:
    """SEGMENT, names (sorted array<string>), shape, view_of (map of ns to place in shape), of segments with at
    least two different views. An empty view does not count: a running client keeps its last route. Segments in which a
    view has more than QUEUES_MAX read queues are left out."""
    known = F.filter("views", lambda known: F.size(known.view) > 0)
    # Filtered in the array: Spark would push a where() below the computation, and compute everything twice.
    differing = F.filter(F.array(_let(known, _read)), lambda read: (F.size(read.shape) > 1) & _is_counted(read.shape))
    return topic_segments.select(*SEGMENT, F.inline(differing))


def _is_counted(shape: Column) -> Column:
    def queues(counts: Column) -> Column:
        return F.aggregate(counts, F.lit(0).cast("long"), lambda sum_, count: sum_ + count)

    return F.forall(shape, lambda counts: queues(counts) <= QUEUES_MAX)


def _read(views: Column) -> Column:
    """struct<names, shape, view_of>."""
    brokers = F.transform(views, lambda known: F.transform(_readable(known.view), lambda entry: entry.broker))

    def counted(names: Column) -> Column:
        return F.transform(views, lambda known: F.struct(known.ns, _read_counts(known.view, names).alias("counts")))

    def read(names: Column, counted: Column) -> Column:
        shape = F.sort_array(F.array_distinct(F.transform(counted, lambda known: known.counts)))
        return _let(shape, lambda shape: _struct(names=names, shape=shape, view_of=_places(counted, shape)))

    names = F.sort_array(F.array_distinct(F.flatten(brokers)))
    return _let(names, lambda names: _let(counted(names), lambda counted: read(names, counted)))


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body(value)``, with ``value`` computed once even if the body uses it several times or in a lambda.

    Spark would otherwise insert the expression at each use, and compute it again for each element of a lambda.
    """
    return F.get(F.transform(F.array(value), body), F.lit(0))


def _readable(view: Column) -> Column:
    """The entries of a view (array<struct<broker, r, w, p>>) that have queues to read."""
    return F.filter(view, lambda entry: (entry.p.bitwiseAND(READ) != 0) & (entry.r > 0))


def _read_counts(view: Column, names: Column) -> Column:
    """array<int>: the read queues of each broker of ``names`` in a view, 0 where it has none."""
    pairs = F.transform(_readable(view), lambda entry: F.struct(entry.broker, entry.r))
    return _let(
        F.map_from_entries(pairs),
        lambda counts: F.transform(names, lambda name: F.coalesce(F.try_element_at(counts, name), F.lit(0))),
    )


def _struct(**fields: Column) -> Column:
    return F.struct(*[value.alias(name) for name, value in fields.items()])


def _places(counted: Column, shape: Column) -> Column:
    def place(known: Column) -> Column:
        return F.struct(known.ns, (F.array_position(shape, known.counts) - 1).cast("int"))

    return F.map_from_entries(F.transform(counted, place))


def _modelled(views: DataFrame, group_sizes: Sequence[int]) -> DataFrame:
    shapes = views.select("shape").distinct().toArrow()["shape"].to_pylist()
    sizes = sorted({c for c in group_sizes if c > 1})
    cases = [(shape, c, how, *model_outcome(shape, c, how)) for shape, c, how in product(shapes, sizes, STRATEGIES)]
    results = frame_of(views.sparkSession, cases, columns(f"shape:shape c:int {OUTCOME}", **NESTED))
    return _rows(views.join(results, "shape", "inner"), "model", F.lit(None))


def _real(views: DataFrame, members: DataFrame) -> DataFrame:
    chosen = _choices(views, members)
    asked = chosen.select("shape", "choice").distinct().toArrow().to_pylist()
    cases = [
        (one["shape"], one["choice"], how, *real_outcome(one["shape"], one["choice"], how))
        for one, how in product(asked, STRATEGIES)
    ]
    results = frame_of(views.sparkSession, cases, columns(f"shape:shape choice:view {OUTCOME}", **NESTED))
    joined = chosen.join(results, ["shape", "choice"], "inner").withColumn("c", F.size("choice"))
    return _rows(joined, "real", F.col("group"))


def _choices(views: DataFrame, members: DataFrame) -> DataFrame:
    """SEGMENT, group, names, shape, choice (array<int>): the view of each member that was there in the middle of the
    segment, ordered by address. A member that moved to another name server counts once."""
    middle = F.col("t1") + F.floor((F.col("t2") - F.col("t1")) / 2)
    there = members.select("topic", "group", "ns", "client", F.col("t1").alias("in_t1"), F.col("t2").alias("in_t2"))
    present = (
        views.join(there, "topic", "inner")
        .where((F.col("in_t1") <= middle) & (middle < F.col("in_t2")))
        .withColumn("member", F.struct("client", F.try_element_at("view_of", F.col("ns")).alias("view")))
    )
    grouped = present.groupBy(*SEGMENT, "group").agg(
        F.transform(F.sort_array(F.collect_list("member")), lambda member: member.view).alias("choice")
    )
    known = grouped.where(F.forall("choice", lambda view: view.isNotNull()))
    return known.join(views.select(*SEGMENT, "names", "shape"), SEGMENT, "inner")


def _rows(joined: DataFrame, assignments: str, group: Column) -> DataFrame:
    """IMPACT from SEGMENT, names, c and OUTCOME."""
    seconds = (F.col("t2") - F.col("t1")) / 1e6
    values = {"assignments": F.lit(assignments), "group": group}
    for name in ("orphaned", "dup"):
        values[f"{name}_ids"] = _named(F.col(name), F.col("names"))
        for how in ("mean", "max"):
            values[f"{name}_qs_{how}"] = F.col(f"{name}_{how}") * seconds
    return conform(joined.withColumns(values), IMPACT)


def _named(queues: Column, names: Column) -> Column:
    """array<string>: broker-a:0 for queue 0 of the broker with that place in ``names``."""
    return F.transform(queues, lambda queue: F.concat_ws(":", F.get(names, queue.b), queue.q.cast("string")))


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


MASTER = 0


def imbalance(read_segments: DataFrame, broker_intervals: Iterable[Row]) -> DataFrame:
    """IMBALANCE of TOPIC_SEGMENTS, with the masters from BROKER_INTERVALS. A segment is cut where a master comes or
    goes, and each piece has rows of its own. Where no view has a writable queue, all figures are null."""
    lives = defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    for row in broker_intervals:
        if row["bid"] == MASTER:
            lives[row["ns"], row["broker"]].append((row["t1"], row["t2"]))
    masters = {key: Lives.of(spans) for key, spans in lives.items()}
    return by_group("topic", partial(_imbalance_of_topic, masters), IMBALANCE, segments=read_segments)


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
    masters: Mapping[tuple[str, str], Lives], topic: str, rows: Mapping[str, Sequence[Row]]
) -> Iterator[Row]:
    """Its rows of IMBALANCE. An empty view does not count: a running client keeps its last route."""
    nobody = Lives((), (), ())
    for segment in rows["segments"]:
        used = {
            (known["ns"], entry["broker"]): entry["w"] if entry["p"] & WRITE else 0
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
    queues, weighted, most = Counter[str](), defaultdict[str, float](float), Counter[str]()
    for (ns, _broker), w in writable.items():
        queues[ns] += w
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

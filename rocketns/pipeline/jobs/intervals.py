"""Which brokers and topics each name server had, as intervals, and where lost records leave that in doubt.

The journal states effects, so the last record of a key is its state, while that of its boot is known (``Boot``). After
lost records the next whole snapshot corrects the state; until then the remaining records are believed, and the data
quality table says that some are lost.

Lost records may have held a topic change. After a hole in the sequence numbers a name server's value of a topic on a
broker is in doubt until its journal names that topic on that broker again: in a record, or in the next whole snapshot.
A snapshot that shows the value of before the hole proves that no change was lost, so then there is no doubt. Most holes
hold heartbeats only, and leave none.

Spark finds the changes, of which there may be any number. A loop over those of a key makes its intervals.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Observation, Row, by_group, columns, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, TOPIC_DOUBTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.state import Base, Boot, Hole, Snapshot
from rocketns.pipeline.jobs.timeline import VALUE

TOPIC = ("topic", "broker")
ACTIVITY = ("reg", "hb", "down", "tput", "tdel")
FOUND_GONE = "snapshot"
# An interval, or a doubt.
TOPIC_STATE = columns("interval:interval doubt:doubt", interval=TOPIC_INTERVALS, doubt=TOPIC_DOUBTS)


class BootSpan(NamedTuple):
    """The time of a boot's row of NS_UPTIME, and its ``snapshots`` and ``holes`` as of ``Boot``."""

    t1: int
    t2: int
    end_cause: str
    snapshots: Sequence[Snapshot] = ()
    holes: Sequence[Hole] = ()


# By name server and boot.
BootSpans = Mapping[tuple[str, int], BootSpan]


def spans_of(boots: Iterable[Boot], uptime: Iterable[Row]) -> BootSpans:
    """Those of the boots that have a row of NS_UPTIME."""
    known = {(boot.ns, boot.boot): boot for boot in boots}
    return {
        (key := (row["ns"], row["boot"])): BootSpan(
            row["t1"], row["t2"], row["end_cause"], known[key].snapshots, known[key].holes
        )
        for row in uptime
    }


def broker_intervals(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """BROKER_INTERVALS."""
    counting = counted(events, base, observation)
    is_member = F.col("bid").isNotNull() & F.col("addr").isNotNull()
    kinds = F.col("ev").isin("reg", "down", "snap") | ((F.col("ev") == "hb") & F.col("timeout_ms").isNotNull())
    present = F.when(F.col("ev") != "down", F.lit(True))
    changes = counting.where(is_member & kinds).select(
        "ns", "boot", "seq", "ts", _early(), *MEMBER, present.alias("value"), _cause().alias("cause"), "gap", "asked",
        "timeout_ms", "zone",
    )  # fmt: skip
    work = partial(_intervals_of_broker, spans_of(base.boots, base.uptime))
    return by_group("broker", work, BROKER_INTERVALS, changes=changes)


def _intervals_of_broker(spans: BootSpans, _broker: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of BROKER_INTERVALS."""
    for (ns, _boot, *member), span, changes in _keys(rows["changes"], MEMBER, spans):
        stated: Row = {}
        dated = []
        for change in changes:
            stated = change if change.get("timeout_ms") is not None else stated
            dated.append({**change, "stated": stated})
        for _opening, following, interval in intervals(dated, span):
            latest = (following and following["stated"]) or stated
            ending = following if following is not None and interval["closed"] else {}
            said = {name: latest.get(name) for name in ("timeout_ms", "zone")}
            said |= {name: ending.get(name) for name in ("gap", "asked")}
            yield interval | said | {"ns": ns, **dict(zip(MEMBER, member, strict=True))}


def topic_state(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """TOPIC_STATE. A key that any name server had is in doubt at each that lost records."""
    changes = topic_changes(counted(events, base, observation))
    work = partial(state_of_topic, spans_of(base.boots, base.uptime))
    return by_group("topic", work, TOPIC_STATE, changes=changes)


def topic_intervals(state: DataFrame) -> DataFrame:
    """TOPIC_INTERVALS of TOPIC_STATE."""
    return state.where("interval is not null").select("interval.*")


def topic_doubts(state: DataFrame) -> DataFrame:
    """TOPIC_DOUBTS of TOPIC_STATE."""
    return state.where("doubt is not null").select("doubt.*")


def state_of_topic(spans: BootSpans, topic: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of TOPIC_STATE."""
    brokers = set()
    recorded: dict[tuple[str, int, str], Sequence[Row]] = {}
    for (ns, boot, broker), span, changes in _keys(rows["changes"], ("broker",), spans):
        recorded[ns, boot, broker] = changes
        for opening, _following, interval in intervals(changes, span):
            brokers.add(broker)
            value = {"ns": ns, "topic": topic, "broker": broker, "cause": opening["cause"], **opening["value"]}
            yield {"interval": interval | value}
    for (ns, boot), span in spans.items():
        for broker in brokers if span.holes else ():
            changes = recorded.get((ns, boot, broker)) or _with_found_gone([], span)
            for t1, t2 in _doubts(changes, span):
                yield {"doubt": {"ns": ns, "topic": topic, "broker": broker, "t1": t1, "t2": t2}}


def topic_changes(events: DataFrame) -> DataFrame:
    """One row per topic of a tput, tdel or snap record: ns, boot, seq, ts, early, topic, broker, cause, and ``value``,
    a struct of VALUE, null where the topic is gone."""
    records = events.where(F.col("ev").isin("tput", "tdel", "snap") & F.col("topics").isNotNull())
    entries = records.select(
        "ns", "boot", "seq", "ts", _early(), "ev", "broker", "cause", F.explode("topics").alias("entry")
    )
    value = F.when(F.col("ev") != "tdel", F.struct(*[F.col(f"entry.{name}").alias(name) for name in VALUE]))
    return entries.select(
        "ns", "boot", "seq", "ts", "early", F.col("entry.t").alias("topic"), "broker", value.alias("value"),
        _cause().alias("cause"),
    )  # fmt: skip


def counted(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """The events that count: before the end; of snapshots only those at which state begins."""
    begins = [(boot.ns, boot.boot, snapshot.snap) for boot in base.boots for snapshot in boot.snapshots]
    known = frame_of(events.sparkSession, begins, columns("ns:string boot:long snap:long"))
    shown = events.where((F.col("ts") < observation.t1) & F.col("ev").isin(*ACTIVITY, "snap"))
    counts = (F.col("ev") != "snap") | F.col("begins")
    begin = F.broadcast(known.withColumn("begins", F.lit(True)))
    return shown.join(begin, ["ns", "boot", "snap"], "left").where(counts).drop("begins")


def _early() -> Column:
    """By how much earlier than its ``ts`` a change may have come: since the observer's look before; 0 without one."""
    return F.greatest(F.coalesce(F.col("ts") - F.col("since"), F.lit(0)), F.lit(0)).alias("early")


def _cause() -> Column:
    return F.when(F.col("ev") == "snap", FOUND_GONE).otherwise(F.coalesce("cause", F.lit("register")))


def _keys(
    changes: Iterable[Row], names: Sequence[str], spans: BootSpans
) -> Iterator[tuple[tuple[Any, ...], BootSpan, Sequence[Row]]]:
    """Each key (ns, boot, names …) whose boot is among the spans, and its changes in the order of seq, from the begin
    of its boot on, with those that were lost and are found later."""
    found = defaultdict[tuple[Any, ...], list[Row]](list)
    key_of = itemgetter("ns", "boot", *names)
    for change in changes:
        found[key_of(change)].append(change)
    for key, of_key in found.items():
        if (span := spans.get(key[:2])) is not None:
            yield key, span, _with_found_gone(sorted(of_key, key=itemgetter("seq")), span)


# Every key is absent at the start of a boot.
ABSENT: Row = {"seq": 0, "ts": 0, "early": 0, "value": None, "cause": None}


def _with_found_gone(changes: Sequence[Row], span: BootSpan) -> list[Row]:
    """A key's changes from the start of its boot on, and an absence for each later snapshot that does not name it: its
    removal was lost. The absence follows the last change before that snapshot, if no other change comes before the
    snapshot's end."""
    found: list[Row] = []
    for change, following in zip([ABSENT, *changes], [*changes, None], strict=True):
        found.append(change)
        for snapshot in islice(span.snapshots, bisect_right(span.snapshots, change["seq"], key=itemgetter(0)), None):
            if following is not None and following["seq"] <= snapshot.end_seq:
                break
            found.append({**ABSENT, "seq": snapshot.end_seq, "ts": snapshot.end_ts, "cause": FOUND_GONE})
    return found


def intervals(changes: Iterable[Row], span: BootSpan) -> Iterator[tuple[Row, Row | None, dict[str, Any]]]:
    """The intervals in which a key has the same ``value`` and not None, within its boot: the change that opened it, the
    next one to another value, and t1, t2, end_cause, t1_early, t2_early (by how much earlier these changes may have
    come, if they were observed), ``closed``: the next change ended it, and not its name server."""
    turns: list[tuple[int, Row]] = []
    latest, before = 0, None
    for change in changes:
        latest = max(latest, change["ts"])  # the clock may have been set back
        if change["value"] != before:
            turns.append((latest, change))
        before = change["value"]
    for (begin, change), turn in zip_longest(turns, turns[1:]):
        following = None if turn is None else turn[1]
        ended = turn if turn is not None and turn[0] <= span.t2 else None
        t1, t2 = max(begin, span.t1), span.t2 if ended is None else ended[0]
        if change["value"] is not None and t1 < t2:
            yield change, following, {
                "t1": t1, "t2": t2, "end_cause": span.end_cause if ended is None else ended[1]["cause"],
                "closed": ended is not None, "t1_early": change["early"] if begin > span.t1 else 0,
                "t2_early": 0 if ended is None else ended[1]["early"],
            }  # fmt: skip


def _doubts(changes: Sequence[Row], span: BootSpan) -> Iterator[tuple[int, int]]:
    """From when to when lost records may have changed a key's value."""
    latest = [*accumulate((change["ts"] for change in changes), max), span.t2]
    for change, following, until in zip(changes, [*changes[1:], None], latest[1:], strict=True):
        first = bisect_left(span.holes, change["seq"], key=itemgetter(0))  # no other one can lie between
        shown = following is not None and following["cause"] == FOUND_GONE and following["value"] == change["value"]
        for hole in span.holes[first : first + 1]:
            is_between = following is None or hole.until <= following["seq"]
            t1, t2 = max(hole.t1, span.t1), min(until, span.t2)
            if is_between and not shown and t1 < t2:
                yield t1, t2

"""Brokers whose user topics nobody may write to any more, as all name servers say that list them.

Name servers agree there, so no window shows it: a wiped write permission, or topics that were made read-only. What a
broker registers as read-only from the beginning is meant to be so, and does not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame

from rocketns.pipeline.contract.frames import Observation, Row, by_group, columns
from rocketns.pipeline.contract.schema import UNWRITABLE
from rocketns.pipeline.contract.terms import MIN_WINDOW_US
from rocketns.pipeline.jobs.topics import SAMPLE_MAX, kind_of, writable_queues

TOGETHER_US = 10_000_000  # topics that lose it, and have it again, within this time make one row
# Of one topic. alone: no other broker could be sent its messages at any time of it.
SPANS = columns(
    "broker:string topic:string t1:long t2:long t1_early:long t2_early:long cause:string queues:long ns:strings "
    "alone:boolean"
)


def unwritable(
    topic_intervals: DataFrame, system_topics: Set[str], observation: Observation, min_window_us: int = MIN_WINDOW_US
) -> DataFrame:
    """UNWRITABLE, of at least ``min_window_us``."""
    work = partial(_spans_of_topic, system_topics, observation, min_window_us)
    spans = by_group("topic", work, SPANS, intervals=topic_intervals)
    return by_group("broker", _rows_of_broker, UNWRITABLE, spans=spans)


def _spans_of_topic(
    system_topics: Set[str], seen: Observation, min_window_us: int, topic: str, rows: Mapping[str, Sequence[Row]]
) -> Iterator[Row]:
    """Its rows of SPANS, if users made it."""
    if kind_of(topic, system_topics) != "user":
        return
    in_order = sorted(rows["intervals"], key=itemgetter("broker", "ns", "t1"))
    for broker, of_broker in groupby(in_order, key=itemgetter("broker")):
        own = list(of_broker)
        for span in _spans(own, seen.t1):
            t1, t2 = span["t1"], span["t2"]
            if t2 - t1 >= min_window_us and seen.t0 <= t1 < seen.t1:
                ns = sorted({row["ns"] for row in own if row["t1"] < t2 and row["t2"] > t1})
                meanwhile = (row for row in in_order if row["t1"] < t2 and row["t2"] > t1)
                alone = not any(row["broker"] != broker and writable_queues(row) > 0 for row in meanwhile)
                yield {**span, "topic": topic, "broker": broker, "ns": ns, "alone": alone}


def _spans(own: Sequence[Row], end: int) -> Iterator[Row]:
    """t1, t2, t1_early, t2_early, cause, queues, of the intervals of a topic on a broker, in the order of ns and t1:
    from the loss of the last permission to write, while a name server still lists the topic on the broker, until there
    is one again or nobody lists it."""
    if not any(
        (before["ns"], before["t2"]) == (row["ns"], row["t1"])
        and writable_queues(before) > 0
        and writable_queues(row) <= 0
        for before, row in pairwise(own)
    ):
        return
    edges = defaultdict[int, list[tuple[Row, int, int]]](list)
    for row in own:
        edges[row["t1"]].append((row, 1, row["t1_early"] or 0))
        edges[row["t2"]].append((row, -1, row["t2_early"] or 0))
    may, listed, was_shut = 0, 0, False
    span: dict[str, Any] | None = None
    for t, at_once in sorted(edges.items()):
        before = may
        may += sum(by for row, by, _early in at_once if writable_queues(row) > 0)
        listed += sum(by for _row, by, _early in at_once)
        is_shut = may == 0 and listed > 0
        if is_shut == was_shut:
            continue
        was_shut, early = is_shut, max(early for _row, _by, early in at_once)
        if span is not None:
            yield span | {"t2": t, "t2_early": early}
        causes = (row["cause"] for row, by, _early in at_once if by > 0 and writable_queues(row) <= 0)
        queues = max(row["w"] for row, _by, _early in at_once)
        began = is_shut and before > 0
        span = {"t1": t, "t1_early": early, "cause": max(causes, default=None), "queues": queues} if began else None
    if span is not None:
        yield span | {"t2": end, "t2_early": 0}


def _rows_of_broker(broker: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of UNWRITABLE: spans that begin and end together are one."""
    in_order = sorted(rows["spans"], key=itemgetter("t1", "t2", "topic"))
    together: list[list[Row]] = []
    for span in in_order:
        last = together[-1][-1] if together else None
        if last and span["t1"] - last["t1"] <= TOGETHER_US and abs(span["t2"] - last["t2"]) <= TOGETHER_US:
            together[-1].append(span)
        else:
            together.append([span])
    for spans in together:
        alone = [span for span in spans if span["alone"]]
        cause = min((span["cause"] for span in spans if span["cause"] is not None), default=None)
        # Topics without another broker come first.
        names = [span["topic"] for span in sorted(spans, key=lambda span: (not span["alone"], span["topic"]))]
        yield {
            "broker": broker, "t1": spans[0]["t1"], "cause": cause,
            **{name: max(span[name] for span in spans) for name in ("t2", "t1_early", "t2_early")},
            "ns": sorted({ns for span in spans for ns in span["ns"]}), "topics": len(spans), "alone": len(alone),
            "queues": sum(span["queues"] for span in alone), "topic_sample": names[:SAMPLE_MAX],
        }  # fmt: skip

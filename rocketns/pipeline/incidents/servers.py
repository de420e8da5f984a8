"""Incidents of name servers themselves: stops, kills, restarts, silence, and empty tables seen from outside.

Incidents in which a broker went: rows of DEPARTURES that were not graceful.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import HOUR_US, OBSERVED, SECOND_US
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.harm import harm_of_loss, to_ask_about
from rocketns.pipeline.incidents.model import Harm, Incident, Symptom


def outages(facts: History) -> list[Incident]:
    """The outages of each name server: from an end to the next start, and a last end without a start. While nobody
    watches a name server from outside, it is not known to be away."""
    return [found for ns, boots in sorted(facts.boots.items()) for found in _outages(ns, boots, facts)]


def _outages(ns: str, boots: Sequence[Row], facts: History) -> Iterator[Incident]:
    for before, after in pairwise(boots):
        if before.get("observed") or after.get("observed"):
            continue
        kind = Symptom.KILLED if before["end_cause"] == "lost" else Symptom.RESTARTED
        back = int(after["t1"])
        yield _outage(kind, ns, min(int(before["t2"]), back), back, False)  # the clock may have been set back
    last = boots[-1]
    kind_of_end = {"stop": Symptom.STOPPED, "silent": Symptom.SILENT}.get(str(last["end_cause"]))
    if kind_of_end and last["t2"] < facts.t1:
        yield _outage(kind_of_end, ns, int(last["t2"]), facts.t1, True)


# What one look shows is recorded within this time. After a start brokers register within a few of their periods, 30 s.
LOOK_US, SETTLED_US = SECOND_US, 120 * SECOND_US
# Until an observer sees that a name server does not answer, and then that it does.
UNANSWERED_US = 60 * SECOND_US


def emptied(facts: History) -> list[Incident]:
    """Watched name servers that lost all their brokers in one look while others kept them, and have most of them again
    soon: what a new start with empty tables looks like from outside."""
    return [found for ns in sorted(facts.observed) for found in _emptied(ns, facts)]


def _emptied(ns: str, facts: History) -> Iterator[Incident]:
    members = [row for rows in facts.intervals.values() for row in rows if row["ns"] == ns]
    ends = sorted({int(row["t2"]) for row in members if row["end_cause"] in OBSERVED})
    looks = [at for before, at in pairwise([0, *ends]) if not before or at - before > LOOK_US]
    for at in looks:
        before = {str(row["broker"]) for row in members if row["t1"] < at <= row["t2"]}
        last = max(end for end in ends if at <= end <= at + LOOK_US)
        after = {str(row["broker"]) for row in members if row["t1"] <= last < row["t2"]}
        if after or not (len(before) > 1 or _did_not_answer(ns, at, facts)):
            continue
        others = [other for other in facts.name_servers if other != ns]
        if not all(any(facts.lists(other, broker, at) for other in others) for broker in before):
            continue
        starts = ((str(row["broker"]), int(row["t1"])) for row in members if at < row["t1"] <= at + SETTLED_US)
        back = {broker: t1 for broker, t1 in sorted(starts, key=lambda start: -start[1]) if broker in before}
        if 2 * len(back) >= len(before):
            gone = [row for row in members if at <= row["t2"] <= at + LOOK_US]
            yield Incident(
                Symptom.EMPTIED, at, max(back.values()), False, ns=(ns,), brokers=tuple(sorted(back)),
                cause=OBSERVED[0], away_us=max(back.values()) - at,
                t1_early=max(int(row.get("t2_early") or 0) for row in gone),
                asked=facts.asked(before, (ns,), at, at + LOOK_US),
            )  # fmt: skip


def _did_not_answer(ns: str, at: int, facts: History) -> bool:
    """Whether a time of watching ended shortly before, and another one began."""
    return any(
        after["t1"] - before["t2"] >= 0 and after["t1"] <= at <= after["t1"] + UNANSWERED_US
        for before, after in pairwise(facts.boots.get(ns, ()))
    )


def unwritable(facts: History) -> list[Incident]:
    """Brokers whose topics nobody may write to, as all name servers say: no difference shows that."""
    return [_unwritable(row, facts) for row in facts.rows("unwritable")]


def _unwritable(row: Row, facts: History) -> Incident:
    t1, t2 = int(row["t1"]), min(int(row["t2"]), facts.t1)
    sample = tuple(str(name) for name in row.get("topic_sample") or ())
    harm = Harm(int(row["topics"]), sample, int(row.get("queues") or 0))
    return Incident(
        Symptom.UNWRITABLE, t1, t2, t2 >= facts.t1, ns=tuple(row.get("ns") or ()), brokers=(str(row["broker"]),),
        cause=str(row.get("cause") or ""), times=int(row["alone"]), away_us=t2 - t1, harm=harm,
        topic=to_ask_about(sample), t1_early=int(row.get("t1_early") or 0), t2_early=int(row.get("t2_early") or 0),
    )  # fmt: skip


def _outage(kind: Symptom, ns: str, t1: int, t2: int, going_on: bool) -> Incident:
    return Incident(kind, t1, t2, going_on, ns=(ns,), away_us=t2 - t1)


def missing_topics(facts: History) -> list[Incident]:
    """One incident for the hours of a topic that follow each other. System topics are left out: clients look them up
    where another topic is missing."""
    groups: list[list[Row]] = []
    rows = [row for row in facts.rows("missing_topics") if row.get("topic_kind") != "system"]
    for row in sorted(rows, key=lambda row: (str(row["topic"]), int(row["hour"]))):
        last = groups[-1][-1] if groups else None
        if last is not None and last["topic"] == row["topic"] and row["hour"] - last["hour"] <= HOUR_US:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [_incident(group, facts) for group in groups]


def _incident(hours: Sequence[Row], facts: History) -> Incident:
    topic = str(hours[0]["topic"])
    begin, end = int(hours[0]["hour"]), int(hours[-1]["hour"]) + HOUR_US
    t1, t2 = max(begin, facts.t0), min(end, facts.t1)
    misses = sum(int(row.get("miss") or 0) for row in hours)
    asked = sorted({str(ns) for row in hours for ns in row.get("ns") or ()})
    return Incident(
        Symptom.MISSING_TOPIC, t1, t2, end >= facts.t1, ns=tuple(asked), cause=str(hours[0].get("kind") or ""),
        times=len(hours), away_us=t2 - t1, topic=topic, harm=Harm(1, (topic,), misses=misses),
    )  # fmt: skip


KINDS = {"crash": Symptom.CRASH, "silent": Symptom.DEAD, "unclear": Symptom.LOST, "observed": Symptom.GONE}


def losses(facts: History) -> list[Incident]:
    """A broker that went from every name server that was up, until it registered again at any."""
    return [_loss(row, KINDS[row["kind"]], facts) for row in facts.rows("departures") if _everywhere(row, facts)]


def partitions(facts: History) -> list[Incident]:
    """A broker that went from some name servers only. Mostly the divergence of its topics shows the same."""
    rows = [row for row in facts.rows("departures") if row["kind"] != "graceful" and not _everywhere(row, facts)]
    return [_loss(row, Symptom.MISSING, facts) for row in rows]


def _everywhere(row: Row, facts: History) -> bool:
    """``unclear`` and ``observed`` may leave out a name server that neither heard the broker nor dropped it."""
    if row["kind"] in ("crash", "silent"):
        return True
    up = {ns for ns in facts.name_servers if facts.boot_at(ns, int(row["t1"]))}
    return row["kind"] in ("unclear", "observed") and up <= set(row.get("ns") or ())


def _loss(row: Row, kind: Symptom, facts: History) -> Incident:
    broker, bids = str(row["broker"]), tuple(row.get("bids") or ())
    t1, gone = int(row["t1"]), int(row["t2"])
    back, back_early = _back(row, kind, gone, facts)
    until = facts.t1 if back is None else back
    harm = harm_of_loss(row)
    return Incident(
        kind, t1, until, back is None, ns=tuple(row.get("ns") or ()), brokers=(broker,), bids=bids,
        cause=_cause(broker, t1, gone, facts), away_us=until - t1, harm=harm, topic=to_ask_about(harm.sample),
        silent_ms=_silent_ms(broker, t1, gone, facts), stalled=tuple(row.get("stalled") or ()),
        t1_early=int(row.get("t1_early") or 0), t2_early=back_early, asked=tuple(row.get("asked") or ()),
    )  # fmt: skip


def _back(row: Row, kind: Symptom, gone: int, facts: History) -> tuple[int | None, int]:
    """When it came back, and by how much earlier that may have been. If all name servers had lost it: at the first of
    them. Otherwise: at those that had lost it.

    If the table leaves out intervals, the end is unknown. Then this is the last certain moment."""
    broker, ids, at = str(row["broker"]), set(row.get("bids") or ()), set(row.get("ns") or ())
    starts = [
        (int(interval["t1"]), int(interval.get("t1_early") or 0))
        for interval in facts.intervals.get(broker, ())
        if interval["t1"] >= gone
        and (not ids or interval.get("bid") in ids)
        and (kind is not Symptom.MISSING or interval["ns"] in at)
    ]
    if starts:
        return min(starts)
    return (None if facts.whole("broker_intervals") else gone), 0


def _ended(broker: str, t1: int, gone: int, facts: History) -> list[Row]:
    return [row for row in facts.intervals.get(broker, ()) if t1 <= row["t2"] <= gone]


def _cause(broker: str, t1: int, gone: int, facts: History) -> str:
    causes = [str(row["end_cause"]) for row in _ended(broker, t1, gone, facts)]
    return max(sorted(set(causes)), key=causes.count, default="")


def _silent_ms(broker: str, t1: int, gone: int, facts: History) -> int | None:
    gaps = [int(row["gap"]) for row in _ended(broker, t1, gone, facts) if row.get("gap") is not None]
    return max(gaps, default=None)

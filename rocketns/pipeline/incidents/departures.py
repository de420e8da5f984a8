"""Incidents in which a broker went: rows of DEPARTURES that were not graceful."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.incidents.facts import Facts
from rocketns.pipeline.incidents.harm import harm_of_loss, to_ask_about
from rocketns.pipeline.incidents.model import Incident, Kind

KINDS = {"crash": Kind.CRASH, "silent": Kind.DEAD, "unclear": Kind.LOST, "observed": Kind.GONE}


def losses(facts: Facts) -> list[Incident]:
    """A broker that went from every name server that was up, until it registered again at any."""
    return [_loss(row, KINDS[row["kind"]], facts) for row in facts.rows("departures") if _everywhere(row, facts)]


def partitions(facts: Facts) -> list[Incident]:
    """A broker that went from some name servers only. Mostly the divergence of its topics shows the same."""
    rows = [row for row in facts.rows("departures") if row["kind"] != "graceful" and not _everywhere(row, facts)]
    return [_loss(row, Kind.MISSING, facts) for row in rows]


def _everywhere(row: Row, facts: Facts) -> bool:
    """``unclear`` and ``observed`` may leave out a name server that neither heard the broker nor dropped it."""
    if row["kind"] in ("crash", "silent"):
        return True
    up = {ns for ns in facts.name_servers if facts.boot_at(ns, int(row["t1"]))}
    return row["kind"] in ("unclear", "observed") and up <= set(row.get("ns") or ())


def _loss(row: Row, kind: Kind, facts: Facts) -> Incident:
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


def _back(row: Row, kind: Kind, gone: int, facts: Facts) -> tuple[int | None, int]:
    """When it came back, and by how much earlier that may have been. If all name servers had lost it: at the first of
    them. Otherwise: at those that had lost it.

    If the table leaves out intervals, the end is unknown. Then this is the last certain moment."""
    broker, ids, at = str(row["broker"]), set(row.get("bids") or ()), set(row.get("ns") or ())
    starts = [
        (int(interval["t1"]), int(interval.get("t1_early") or 0))
        for interval in facts.intervals.get(broker, ())
        if interval["t1"] >= gone
        and (not ids or interval.get("bid") in ids)
        and (kind is not Kind.MISSING or interval["ns"] in at)
    ]
    if starts:
        return min(starts)
    return (None if facts.whole("broker_intervals") else gone), 0


def _ended(broker: str, t1: int, gone: int, facts: Facts) -> list[Row]:
    return [row for row in facts.intervals.get(broker, ()) if t1 <= row["t2"] <= gone]


def _cause(broker: str, t1: int, gone: int, facts: Facts) -> str:
    causes = [str(row["end_cause"]) for row in _ended(broker, t1, gone, facts)]
    return max(sorted(set(causes)), key=causes.count, default="")


def _silent_ms(broker: str, t1: int, gone: int, facts: Facts) -> int | None:
    gaps = [int(row["gap"]) for row in _ended(broker, t1, gone, facts) if row.get("gap") is not None]
    return max(gaps, default=None)

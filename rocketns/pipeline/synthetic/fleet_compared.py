"""The tables about the fleet compared with the truth. Plain values, no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from rocketns.pipeline.synthetic.verdicts import FaultOutcome, Verdict, invented, sets

Row = Mapping[str, Any]

COLUMNS = {
    "clients": ("client", "poll_s"),
    "client_census": ("lang", "cv", "clients"),
    "missing_askers": ("topic", "client"),
    "availability": ("level", "broker", "bid", "listed_s", "failed_s", "planned_s", "failures"),
    "sole_topics": ("scope", "name", "topic", "kind", "loses_masters", "loses_writes", "queues"),
    "blast_radius": ("scope", "name", "no_master", "no_write", "queues", "sample"),
    "storms": ("ns", "t1", "registrations", "brokers", "trigger"),
    "ordered_keys": ("topic", "kind", "steps", "moved_max"),
    "growth": ("day", "topics", "entries", "broker", "registration_bytes"),
    "growth_limits": ("measure", "now", "per_day"),
}
# The ends of the observation and of a killed name server are those of the last record.
UP_TOLERANCE_S = 90.0
FAST_POLL_S = 15


def fleet_verdicts(
    truth: Mapping[str, Any], given: Mapping[str, Sequence[Row]], tolerance_s: float = UP_TOLERANCE_S
) -> Iterator[Verdict]:
    """A verdict for each fact, then for what was invented, table by table. ``tolerance_s``: of times at one name
    server."""
    fast = {row["client"] for row in given["clients"] if row["poll_s"] is not None and row["poll_s"] < FAST_POLL_S}
    yield from sets("clients", set(truth["pollers"]), fast)
    yield from sets("client_census", _tuples(truth["census"]), _rows(given, "client_census"))
    yield from sets("missing_askers", _tuples(truth["askers"]), _rows(given, "missing_askers"))
    yield from _budgets(truth["budgets"], given["availability"], tolerance_s)
    yield from _losses(truth, given)
    yield from sets("storms", _tuples(truth["storms"]), set(_numbered(given["storms"])))
    moved = {(r["topic"], r["steps"], round(r["moved_max"], 9)) for r in given["ordered_keys"] if r["kind"] == "user"}
    yield from sets("ordered_keys", _tuples(truth["moved"]), moved)
    growth = {(_day(row["day"]), *(row[name] for name in COLUMNS["growth"][1:])) for row in given["growth"]}
    yield from sets("growth", _tuples(truth["growth"]), growth)
    limits = {
        (row["measure"], row["now"], row["per_day"] and round(row["per_day"], 6)) for row in given["growth_limits"]
    }
    yield from sets("growth_limits", _tuples(truth["limits"]), limits)


def _losses(truth: Mapping[str, Any], given: Mapping[str, Sequence[Row]]) -> Iterator[Verdict]:
    """What one broker or zone takes with it."""
    users = [row for row in given["sole_topics"] if row["kind"] == "user"]
    names = ("scope", "name", "topic", "loses_masters", "loses_writes", "queues")
    yield from sets("sole_topics", _tuples(truth["sole"]), {tuple(row[name] for name in names) for row in users})
    *others, sample = COLUMNS["blast_radius"]
    radius = {(*(row[name] for name in others), " ".join(row[sample])) for row in given["blast_radius"]}
    yield from sets("blast_radius", _tuples(truth["radius"]), radius)


def _tuples(lists: Sequence[Sequence[Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in lists}


def _rows(given: Mapping[str, Sequence[Row]], table: str) -> set[tuple[Any, ...]]:
    return {tuple(row[name] for name in COLUMNS[table]) for row in given[table]}


def _numbered(storms: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    """Each name server's storms in the order of time, without their times."""
    for ns in sorted({row["ns"] for row in storms}):
        own = sorted((row for row in storms if row["ns"] == ns), key=lambda row: row["t1"])
        yield from ((ns, n, row["registrations"], row["brokers"], row["trigger"]) for n, row in enumerate(own))


def _day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def _budgets(wanted: Sequence[Row], rows: Sequence[Row], tolerance_s: float) -> Iterator[Verdict]:
    """One verdict if everything that has a budget has its times, else one for each that has not."""
    by_unit = {_unit(row): row for row in rows}
    wrong = [row for row in wanted if not _same(by_unit.pop(_unit(row), None), row, tolerance_s)]
    for row in wrong:
        said = f"failed {row['failed_s']:.0f} s in {row['failures']} failures, planned {row['planned_s']:.0f} s"
        yield Verdict(FaultOutcome.MISSED, "availability", f"{_unit(row)}: listed {row['listed_s']:.0f} s, {said}")
    if not wrong:
        yield Verdict(FaultOutcome.FOUND, "availability", f"the times of {len(wanted)} brokers, groups and clusters")
    yield from (invented("availability", unit) for unit in sorted(by_unit))


def _unit(row: Row) -> str:
    """``broker b 0``, ``group b``, ``master b`` or ``cluster``."""
    return " ".join(str(row[name]) for name in ("level", "broker", "bid") if row[name] is not None)


def _same(row: Row | None, wanted: Row, tolerance_s: float) -> bool:
    if row is None or row["failures"] != wanted["failures"]:
        return False
    tolerance = tolerance_s * wanted["groups"]
    return all(abs(row[name] - wanted[name]) <= tolerance for name in ("listed_s", "failed_s", "planned_s"))

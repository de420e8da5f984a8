"""Which record gave each broker its queues, and since when records are missing that may have changed them."""

from __future__ import annotations

from typing import NamedTuple

from rocketns.journal.reading.lines import Record
from rocketns.pipeline.jobs.history.intervals import FOUND_GONE
from rocketns.pipeline.moment.recorded import Recorded


class Cause(NamedTuple):
    """The record that set the queues. ``since``: it was observed, and came after this moment, us."""

    ts: int
    boot: int
    seq: int
    cause: str
    since: int | None = None


def causes(recorded: Recorded, at: int) -> dict[tuple[str, str], Cause]:
    """By name server and broker; a snapshot only if there is no other record."""
    last: dict[tuple[str, str], Cause] = {}
    for (ns, boot), records in sorted(recorded.records.items()):
        for record in records:
            if record["ts"] <= at and record.get("topics") and record["ev"] in ("tput", "tdel", "snap"):
                found = Cause(record["ts"], boot, record["seq"], _cause(record), record.get("since"))
                known = last.get((ns, record["broker"]))
                if known is None or known.cause == FOUND_GONE or found.cause != FOUND_GONE:
                    last[ns, record["broker"]] = found
    return last


def maybe_already(recorded: Recorded, at: int) -> dict[tuple[str, str], Cause]:
    """By name server and broker, the first observed change that may have come by ``at``, and was seen later."""
    found: dict[tuple[str, str], Cause] = {}
    for (ns, boot), records in recorded.records.items():
        for record in records:
            since = record.get("since")
            if since is not None and since < at < record["ts"] and record.get("topics"):
                seen = Cause(record["ts"], boot, record["seq"], _cause(record), since)
                found[ns, record["broker"]] = min(found.get((ns, record["broker"]), seen), seen)
    return found


def _cause(record: Record) -> str:
    return FOUND_GONE if record["ev"] == "snap" else str(record.get("cause") or "register")


def lost_before(recorded: Recorded, at: int) -> dict[str, int]:
    """By name server, since when (us) records of the running boot are missing that may have changed a route as of
    ``at``. A whole snapshot after a hole restores the state."""
    last = {boot.ns: boot for boot in recorded.until(at).boots()}  # the last boot is the last one of its name server
    since: dict[str, int] = {}
    for ns, boot in last.items():
        open_holes = [h.t for h in boot.holes if not any(one.snap >= h.until for one in boot.snapshots)]
        if open_holes:
            since[ns] = min(open_holes)
    return since

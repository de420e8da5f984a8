"""Departures and outages: the audit's statements about brokers and name servers, compared with the faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocketns.pipeline.contract.causes import FAILURES, GRACEFUL, SILENT
from tests.simulation.audit.expected import Known
from tests.simulation.audit.found import Found, Row
from tests.simulation.audit.truth import Down, epoch_us
from tests.simulation.plan import BROKER_KINDS, LINK_KINDS, Deployment, Fault

SECOND_US = 1_000_000
# The longest time-out, a scan, and what a name server needs after a stall.
NOTICED_WITHIN_US = 150 * SECOND_US
# What a departure is, if only one thing was done that concerns the broker and its name servers.
KINDS = {
    "stop the broker": ("graceful",), "kill the broker": ("crash",), "cut the broker's power": ("silent", "partition"),
}  # fmt: skip


def departures_differ(
    known: Sequence[Known], found: Found, deployment: Deployment, faults: Sequence[Fault]
) -> Iterator[str]:
    """Every removal is in a departure, and every departure has removals, a fault and the right kind.

    No audit sees a broker that came and went in one ms, or went in the first ms of a restored server.
    """
    downs = [(one.run.ns, down) for one in known for down in one.run.downs if _is_seen(down, one)]
    downs = [(ns, down) for ns, down in downs if down.cause in (*FAILURES, *GRACEFUL)]
    for ns, down in downs:
        if not any(_has(row, ns, down) for row in found["departures"]):
            yield f"departures: missed: {down} from {ns}"
    for row in found["departures"]:
        for ns in row["ns"]:
            if not any(ns == other and _has(row, ns, down) for other, down in downs):
                yield f"departures: {ns} removed nobody: {row}"
        kept = _is_kept(row, known)
        if kept and row["kind"] in ("crash", "silent"):
            yield f"departures: not lost everywhere: {row}, {kept}"
        if not kept and row["kind"] == "partition":
            yield f"departures: lost everywhere: {row}"
        causes = {down.cause for ns, down in downs if _has(row, ns, down)}
        if not _fits(row["kind"], causes):
            yield f"departures: {sorted(causes)} looks like {row}"
        yield from _unlike(row, deployment, faults)


def _is_seen(down: Down, known: Known) -> bool:
    before = [view for view in known.run.views if view.us < down.us]
    return known.t1 < down.us <= known.t2 and bool(before) and down.member in before[-1].members


def _fits(kind: str, causes: set[str]) -> bool:
    """Whether members that were removed for these causes are a departure of that kind."""
    if kind == "graceful" or "unregister" in causes:
        return kind == "graceful" and "unregister" in causes
    return causes <= set(SILENT) if kind == "silent" else kind != "crash" or not causes & set(SILENT)


def _has(row: Row, ns: str, down: Down) -> bool:
    _, broker, bid, _ = down.member
    is_in = row["broker"] == broker and bid in row["bids"] and ns in row["ns"]
    return bool(is_in and row["t1"] <= down.us <= row["t2"])


def _is_kept(row: Row, known: Sequence[Known]) -> str:
    """A member of the departure that a name server listed all the time."""
    for run, t1, t2, _ in known:
        views = [view for view in run.views if view.us <= row["t2"]]
        if t1 <= row["t1"] and row["t2"] < t2 and views:
            last = max(place for place, view in enumerate(views) if place == 0 or view.us <= row["t1"])
            for member in frozenset.intersection(*(view.members for view in views[last:])):
                if member[1] == row["broker"] and member[2] in row["bids"]:
                    return f"{run.ns} kept {member}"
    return ""


def _unlike(row: Row, deployment: Deployment, faults: Sequence[Fault]) -> Iterator[str]:
    """A fault explains the departure. If it is the only fault, the departure has its kind."""
    causes = [fault for fault in faults if _concerns(fault, row, deployment)]
    if not causes:
        yield f"departures: nothing was done: {row}"
    elif len(causes) == 1 and row["kind"] not in KINDS.get(causes[0].kind, (row["kind"],)):
        yield f"departures: {causes[0]} looks like {row}"


def _concerns(fault: Fault, row: Row, deployment: Deployment) -> bool:
    at, over = epoch_us(fault.at_ms * 1000), epoch_us((fault.at_ms + fault.lasts_ms) * 1000)
    member = deployment.members[fault.broker]
    is_of_broker = member.name == row["broker"] and member.broker_id in row["bids"]
    is_far = fault.kind in BROKER_KINDS | LINK_KINDS and not is_of_broker
    return bool(at <= row["t2"] and over + NOTICED_WITHIN_US >= row["t1"] and not is_far)


def outages_differ(known: Sequence[Known], found: Found) -> Iterator[str]:
    """The list of incidents has each end of a name server, and no other."""
    wanted: Counter[tuple[str, str, int]] = Counter()
    for ns in {one.run.ns for one in known}:
        mine = sorted((one for one in known if one.run.ns == ns), key=lambda one: one.t1)
        for before, _ in pairwise(mine):
            wanted["killed" if before.end == "lost" else "restarted", ns, before.t2] += 1
        if mine[-1].end == "stop":
            wanted["stopped", ns, mine[-1].t2] += 1
    kinds = ("killed", "restarted", "stopped", "silent")
    shown = Counter((str(one.kind), one.ns[0], one.t1) for one in found.incidents if one.kind in kinds)
    yield from (f"incidents: missed: {one}" for one in wanted - shown)
    yield from (f"incidents: invented: {one}" for one in shown - wanted)

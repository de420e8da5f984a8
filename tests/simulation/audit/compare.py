"""Every difference between what happened and what the audit found, as a sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rocketns.pipeline.contract.defaults import MIN_WINDOW_US
from tests.simulation.audit.departed import departures_differ, outages_differ
from tests.simulation.audit.expected import Known, Span, Window, joined, members_of, queues_of, spans, windows
from tests.simulation.audit.found import Found, Row
from tests.simulation.audit.truth import Run, Truth
from tests.simulation.plan import Deployment, Fault
from tests.simulation.routes import NO_STALL_US, READ_WITHIN_US, STALL_US

SECOND_US = 1_000_000
MS_US = 1_000
# From the last record to the end of the process.
STOPS_WITHIN_US = 5 * SECOND_US
# A stall may have begun with the job before the stop. Its record says at most how long it was.
STALL_MORE_US = 1_100_000


def differences(truth: Truth, found: Found, deployment: Deployment, faults: Sequence[Fault]) -> list[str]:
    """Empty if the audit found what happened, and nothing else. ``faults`` are those that were done."""
    known, wrong = _boots(truth, found)
    lossless = [one for one in known if not one.run.is_lossy]
    wrong += _stalls(truth, known, found)
    wrong += _losses(truth, found)
    for name, shown in (("members", members_of), ("queues", queues_of)):
        wanted = [row for one in lossless for row in spans(one, shown)]
        wrong += _apart(name, joined(wanted), joined(_of(name, found, lossless)))
    wrong += _ends(lossless, found)
    wrong += _kept(lossless, found)
    wrong += outages_differ(known, found)
    if len(lossless) == len(known):
        wrong += departures_differ(known, found, deployment, faults)
    wanted = windows(known, [row for one in known for row in spans(one, queues_of)], MIN_WINDOW_US)
    return wrong + list(_windows(wanted, found, is_exact=len(lossless) == len(known)))


def _boots(truth: Truth, found: Found) -> tuple[list[Known], list[str]]:
    """The runs with what the audit knows of them, and what is wrong with that."""
    rows = {(row["ns"], row["boot"]): row for row in found["ns_uptime"]}
    known, wrong = [], []
    for run in truth.runs:
        row = rows.pop((run.ns, run.boot), None)
        if row is not None:
            known.append(Known(run, row["t1"], row["t2"], row["end_cause"]))
            wrong += [f"uptime: {what} of {_run(run)}, the audit has {row}" for what in _wrong_boot(run, row)]
        elif run.shown_by is not None and run.synced >= run.shown_by and run.synced_us > run.begun_us:
            wrong.append(f"uptime: the audit has no {_run(run)}")
    return known, wrong + [f"uptime: nobody ran: {row}" for row in rows.values()]


def _wrong_boot(run: Run, row: Row) -> Iterator[str]:
    if row["t1"] < run.begun_us or (row["t1"] > run.begun_us and run.shown_by is not None):
        yield "the beginning"
    if row["end_cause"] not in run.ends:
        yield "the cause of the end"
    if row["t2"] > run.ended_us or (row["end_cause"] == "stop" and run.ended_us - row["t2"] > STOPS_WITHIN_US):
        yield "the end"


def _stalls(truth: Truth, known: Iterable[Known], found: Found) -> Iterator[str]:
    """Each stop that is long enough has one record; a shorter stop may have one."""
    rows = list(found["stalls"])
    reached = {(one.run.ns, one.run.boot): one.t2 for one in known}
    for run in truth.runs:
        t2 = reached.get((run.ns, run.boot), 0)
        for start, end in run.stops:
            mine = [row for row in rows if _is_stall(row, run, start, end)]
            rows = [row for row in rows if row not in mine]
            must = end - start > NO_STALL_US and end < t2 and any(view.members for view in run.views if view.us < start)
            if len(mine) > 1 or (must and not mine and not run.is_lossy):
                yield f"stalls: {_run(run)} did not run from {start} to {end}, the audit has {mine}"
    yield from (f"stalls: nobody was stopped: {row}" for row in rows)


def _is_stall(row: Row, run: Run, start: int, end: int) -> bool:
    is_long = end - start >= STALL_US and end - start <= row["ms"] * MS_US + MS_US <= end - start + STALL_MORE_US
    return bool((row["ns"], row["boot"]) == (run.ns, run.boot) and 0 <= row["ts"] - end <= READ_WITHIN_US and is_long)


def _losses(truth: Truth, found: Found) -> Iterator[str]:
    """Records are missing where the buffer was full, and nowhere else."""
    lossy = {(run.ns, run.boot) for run in truth.runs if run.is_lossy}
    for row in (*found["holes"], *found["drops"]):
        if (row["ns"], row["boot"]) not in lossy:
            yield f"losses: nothing was lost: {row}"


def _of(name: str, found: Found, known: Iterable[Known]) -> Iterator[Span]:
    """Intervals of the audit, of these runs."""
    stretches = [(one.run.ns, one.t1, one.t2) for one in known]
    table = "broker_intervals" if name == "members" else "topic_intervals"
    for row in found[table]:
        if any(row["ns"] == ns and t1 <= row["t1"] < t2 for ns, t1, t2 in stretches):
            if name == "members":
                yield Span(row["ns"], _member(row), True, row["t1"], row["t2"])
            else:
                yield Span(row["ns"], (row["topic"], row["broker"]), _queues(row), row["t1"], row["t2"])


def _ends(known: Iterable[Known], found: Found) -> Iterator[str]:
    """Each interval that ended while its name server ran ended by the cause for which the member was removed."""
    wanted = Counter(
        (one.run.ns, down.member, down.us, down.cause)
        for one in known for down in one.run.downs if one.t1 <= down.us <= one.t2
    )  # fmt: skip
    for row in found["broker_intervals"]:
        run = next((one for one in known if one.run.ns == row["ns"] and one.t1 <= row["t1"] < one.t2), None)
        if run is not None and row["end_cause"] not in ("stop", "lost", "snapshot"):
            taken = row["end_cause"] in ("conflict", "register")  # its id or its address has another member now
            if not taken and not wanted[row["ns"], _member(row), row["t2"], row["end_cause"]]:
                yield f"ends: nothing removed it: {row}"


def _kept(known: Iterable[Known], found: Found) -> Iterator[str]:
    """Who was kept without a sign of life, and why."""
    wanted, shown = set(), set()
    for run, t1, t2, _ in known:
        before: frozenset[Any] = frozenset()
        for view in run.views:
            if t1 < view.us < t2:
                wanted |= {(run.ns, view.us, *one) for one in view.kept - before}
            before = view.kept
        mine = [row for row in found["kept"] if (row["ns"], row["boot"]) == (run.ns, run.boot) and t1 < row["ts"] < t2]
        shown |= {(run.ns, row["ts"], _member(row), row["doubt"]) for row in mine}
    yield from _apart("kept", wanted, shown)


def _windows(wanted: list[Window], found: Found, *, is_exact: bool) -> Iterator[str]:
    rows = [row for row in found["key_windows"] if row["doubt"] is None]
    shown = [Window((row["topic"], row["broker"]), row["t1"], row["t2"]) for row in rows]
    if is_exact:
        yield from _apart("windows", wanted, sorted(shown, key=repr))
        return
    for one in shown:  # records were lost: only certain statements must be true
        if not any(one.key == real.key and real.t1 <= one.t1 and one.t2 <= real.t2 for real in wanted):
            yield f"windows: invented, though it is called certain: {one}"


def _apart(name: str, wanted: Iterable[Any], shown: Iterable[Any]) -> Iterator[str]:
    wanted, shown = Counter(wanted), Counter(shown)
    yield from (f"{name}: missed: {one}" for one in wanted - shown)
    yield from (f"{name}: invented: {one}" for one in shown - wanted)


def _member(row: Row) -> tuple[Any, ...]:
    return row["cluster"], row["broker"], row["bid"], row["addr"]


def _queues(row: Row) -> tuple[int, int, int]:
    return row["r"], row["w"], row["p"]


def _run(run: Run) -> str:
    return f"the run {run.boot} of {run.ns}, {run.begun_us} to {run.ended_us}, {' or '.join(run.ends)}"

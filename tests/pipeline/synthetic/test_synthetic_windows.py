"""The windows that the truth about a fleet tells are those that its journals hold, read in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rocketns.pipeline.synthetic import Faults, FleetSpec, make_fleet
from tests.pipeline.intervals import read_journal
from tests.pipeline.synthetic.synthetic_journals import Journals

UNKNOWN, ABSENT = "unknown", None
SECOND = 1_000_000
# A clock that is read to the ms, and a killed name server's last record, which is up to a heartbeat before its end.
NEAR_US = 2_000


class Step(NamedTuple):
    """From ``at`` on (true us) a name server has this value of a topic on a broker."""

    at: int
    ns: str
    value: Any


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_truth_tells_the_windows_that_the_journals_hold(tmp_path: Path, seed: int) -> None:
    faults = Faults(partitions=4, lost_changes=2, lost_deletions=2, restarts=2, kills=2, bursts=0, hidden_changes=0)
    spec = FleetSpec(brokers=8, topics=16, seconds=30 * 3600, rotate_s=86_400, seed=seed, faults=faults)
    journals = Journals(tmp_path, make_fleet(spec, tmp_path))
    held = {(topic, broker, t1): t2 for topic, broker, t1, t2 in windows(journals) if t2 - t1 >= 4.5 * SECOND}
    told = [
        (topic, window["broker"], window["t1"], window["t2"])
        for fault in journals.truth["faults"]
        for window in fault["windows"]
        for topic in window["topics"]
    ]
    assert len(told) > 50
    for topic, broker, t1, t2 in told:
        key = next((k for k in held if k[:2] == (topic, broker) and abs(k[2] - t1) <= NEAR_US), None)
        assert key is not None, (topic, broker, t1)
        assert abs(held.pop(key) - t2) <= NEAR_US
    assert held == {}


def windows(journals: Journals) -> Iterator[tuple[str, str, int, int]]:
    """(topic, broker, from, to) of each stretch in which the known values differ."""
    end = journals.truth["t1"]
    steps: dict[tuple[str, str], list[Step]] = {}
    boots: list[Step] = []
    for ns, records in journals.records.items():
        offset = journals.offset(ns)
        uptime, topics = read_journal(ns, records, end + offset)
        boots += [step for up in uptime for step in _boot_steps(up, ns, offset, end)]
        for row in topics:
            values = steps.setdefault((row["topic"], row["broker"]), [])
            values.append(Step(row["t1"] - offset, ns, (row["r"], row["w"], row["p"])))
            if row["end_cause"] not in ("open", "stop", "lost"):
                values.append(Step(row["t2"] - offset, ns, ABSENT))
    for (topic, broker), values in steps.items():
        yield from ((topic, broker, t1, t2) for t1, t2 in _differing([*boots, *values], list(journals.records), end))


def _boot_steps(up: dict[str, Any], ns: str, offset: int, end: int) -> Iterator[Step]:
    yield Step(up["t1"] - offset, ns, ABSENT)
    if up["t2"] - offset < end:
        yield Step(up["t2"] - offset, ns, UNKNOWN)


def _differing(steps: list[Step], servers: list[str], end: int) -> Iterator[tuple[int, int]]:
    values: dict[str, Any] = dict.fromkeys(servers, UNKNOWN)
    since: int | None = None
    order = sorted(range(len(steps)), key=lambda place: (steps[place].at, steps[place].value is not ABSENT))
    for at, group in groupby(order, key=lambda place: steps[place].at):
        for place in group:
            values[steps[place].ns] = steps[place].value
        differ = len({value for value in values.values() if value != UNKNOWN}) > 1
        if differ and since is None:
            since = at
        elif not differ and since is not None:
            yield since, at
            since = None
    if since is not None:
        yield since, end

"""By how much clocks differ, told by data versions and by the word of the operator; and times after the correction."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.clocks import ClockDay, ClockEstimate, Server, bounded, clock_rows, contradicts
from rocketns.pipeline.contract.schema import CLOCK_DAYS, EVENTS
from rocketns.pipeline.jobs.clocks import clock_days, corrected
from tests.pipeline.frames import cut, frame, rows
from tests.pipeline.journals import DAY_START, SECOND, Broker, Journal, Journals, events_frame, topic

S = SECOND
# Far from midnight, so that all clocks have the same day.
NOON = DAY_START + 12 * 3600 * SECOND
BROKERS = [Broker(f"broker-{name}", f"10.0.0.{number}:10911") for number, name in enumerate("abc", 1)]


def fleet(
    offsets_s: dict[str, float], versions: int, silent_at_n1: bool = False, brokers: Sequence[Broker] = BROKERS
) -> Journals:
    """Ten minutes of brokers that every name server hears within 20 ms, with clocks that are off by so many s."""
    chance = random.Random(1)
    journals = {ns: Journal(NOON + int(off * SECOND), ns) for ns, off in offsets_s.items()}
    for beat in range(20):
        for number, broker in enumerate(brokers):
            sent = NOON + (1 + beat * 30 + number * 7) * SECOND
            for ns, journal in journals.items():
                if silent_at_n1 and ns == "n1" and beat > 4:
                    continue
                ts = sent + int(offsets_s[ns] * SECOND) + chance.randrange(20) * 1000
                journal.register(ts, broker, [topic("T", r=4 + (beat // 5))], min(versions, beat // 3))
    return {ns: journal.records for ns, journal in journals.items()}


def late_versions() -> Journals:
    """n2 hears each new version two minutes late, because it heard nothing meanwhile: its clock is right."""
    journals = {ns: Journal(NOON, ns) for ns in ("n1", "n2")}
    for beat in range(30):
        for number, broker in enumerate(BROKERS):
            ts = NOON + (1 + beat * 30 + number * 7) * SECOND
            for ns in ("n1",) if beat >= 6 and beat % 6 < 4 else journals:
                journals[ns].register(ts, broker, [topic("T")], beat // 6)
    return {ns: journal.records for ns, journal in journals.items()}


def watched(alone: bool) -> Journals:
    """A name server with a journal of its own, and two whose registrations an observer saw."""
    journals = {} if alone else fleet({"n1": 0}, versions=9)
    for ns in ("w0", "w1"):
        named = {"cluster": "c", "broker": "b", "addr": "10.0.0.1:10911", "bid": 0, "ns": ns, "boot": NOON // 1000}
        journals[ns] = [named | {"seq": seq, "ts": NOON + seq * SECOND, "since": NOON, "ev": "reg"} for seq in (1, 2)]
    return journals


Told = tuple[float, str, str | None, float | None]  # offset in s, method, reference, uncertainty in s
N1: Told = (0, "reference", "n1", 0)
# name → the journals, and the clocks of some of its name servers
CASES: dict[str, tuple[Callable[[], Journals], dict[str, Told]]] = {
    "versions tell any offset": (
        lambda: fleet({"n1": 0, "n2": 47.3, "n3": -610}, versions=9),
        {"n1": N1, "n2": (47.3, "versions", "n1", 0.02), "n3": (-610, "versions", "n1", 0.02)},
    ),
    "heartbeats alone tell nothing": (lambda: fleet({"n1": 0, "n2": 3}, versions=0), {"n2": (0, "none", "n1", None)}),
    "two versions are too few": (
        lambda: fleet({"n1": 0, "n2": 3.2}, versions=1, brokers=BROKERS[:2]), {"n2": (0, "none", "n1", None)},
    ),
    "a version after a long silence tells nothing": (late_versions, {"n2": (0, "none", "n1", None)}),
    "the reference is who heard the most": (
        lambda: fleet({"n1": 5, "n2": 0}, versions=9, silent_at_n1=True), {"n1": (5, "versions", "n2", 0.01)},
    ),
    "nothing shows the clock of an observer": (lambda: watched(False), {"w0": (0, "observed", "n1", None)}),
    "where all were watched the observer's clock is the only one": (
        lambda: watched(True), dict.fromkeys(("w0", "w1"), (0, "observed", None, 0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_clocks_of_a_journal_and_its_times_by_them(spark: SparkSession, case: str) -> None:
    journals, expected = CASES[case]
    events = cut(events_frame(spark, journals()))
    days = frame(spark, CLOCK_DAYS, clock_days(events))
    found = {
        row[1]: (round(row[2] / SECOND, 1), row[5], row[6], row[7] and round(row[7] / SECOND, 2)) for row in rows(days)
    }
    assert found.items() >= expected.items()
    shifted = corrected(events, days)
    assert shifted.schema.simpleString() == EVENTS.simpleString()
    for ns, ts in rows(shifted.where("seq = 1").select("ns", "ts")):
        assert abs(ts - journals()[ns][0]["ts"] + found[ns][0] * SECOND) < SECOND // 10


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ClockEstimate(), ClockEstimate(method="given", uncertainty=2)),
        (ClockEstimate(method="observed"), ClockEstimate(method="observed", uncertainty=2)),
        (ClockEstimate(7, method="versions", uncertainty=1), ClockEstimate(7, method="versions", uncertainty=1)),
        (ClockEstimate(method="reference", uncertainty=0), ClockEstimate(method="reference", uncertainty=0)),
    ],
)
def test_the_word_bounds_a_clock_that_nothing_measures(before: ClockEstimate, after: ClockEstimate) -> None:
    assert bounded(before, 2) == after


def test_a_clock_that_was_measured_to_be_off_by_more_contradicts_the_word() -> None:
    assert contradicts("versions", -12 * S, 20_000, 2 * S)
    assert not contradicts("versions", 2 * S, 20_000, 2 * S)
    assert not contradicts("given", 0, 9 * S, 2 * S)


def day(name: str, heard: dict[str, int], **ahead: Sequence[float]) -> ClockDay:
    """Of each clock how far it is ahead at its samples, s; the name server that heard the most is on time."""
    reference = max(heard, key=lambda ns: heard[ns])
    samples = [
        {reference: number * 60 * S, ns: round((number * 60 + offset) * S)}
        for ns, offsets in ahead.items()
        for number, offset in enumerate(offsets, 100)
    ]
    return ClockDay(name, {ns: Server(False, n) for ns, n in heard.items()}, samples)


TWO, THREE = {"n1": 9, "n2": 1}, {"n1": 9, "n2": 1, "n3": 1}


def of(days: list[ClockDay], wanted: str, within: int | None = None) -> list[tuple[float, str]]:
    return [(row[2] / S, row[5]) for row in clock_rows(days, within) if row[1] == wanted]


def test_a_clock_that_was_set_has_another_offset_from_the_next_day_on() -> None:
    days = [day("1", TWO, n2=(5, 5, 5)), day("2", TWO, n2=(60, 60, 60))]
    assert of(days, "n2") == [(5, "versions"), (60, "versions")]
    assert of(days, "n1") == [(0, "reference")] * 2


def test_a_day_without_versions_has_the_offset_of_the_day_before() -> None:
    assert of([day("1", TWO, n2=(47, 47, 47)), day("2", TWO)], "n2") == [(47, "versions")] * 2


def test_versions_that_do_not_agree_tell_nothing() -> None:
    assert of([day("1", TWO, n2=(5, 25, 65))], "n2") == [(0, "none")]
    assert of([day("1", TWO, n2=(5, 5, 65))], "n2") == [(5, "versions")]


def test_versions_of_several_days_count_together() -> None:
    days = [day(name, TWO, n2=(47,)) for name in "123"]
    assert of(days, "n2") == [(0, "none"), (0, "none"), (47, "versions")]
    assert of(days, "n2", S) == [(0, "given"), (0, "given"), (47, "versions")]


def test_the_reference_stays_where_another_name_server_heard_more() -> None:
    """On day 2 the offsets are those against n2, on day 3 n1 is not heard at all."""
    days = [
        day("1", THREE, n2=(5, 5, 5), n3=(9, 9, 9)),
        day("2", {"n1": 1, "n2": 9, "n3": 1}, n1=(-6, -6, -6), n3=(4, 4, 4)),
        day("3", {"n2": 9, "n3": 1}, n3=(1, 1, 1)),
    ]
    assert of(days, "n1") == [(0, "reference")] * 3
    assert of(days, "n2") == [(5, "versions"), (6, "versions"), (6, "versions")]
    assert of(days, "n3") == [(9, "versions"), (10, "versions"), (7, "versions")]


def test_nobody_is_known_where_no_broker_was_heard() -> None:
    rows_: list[tuple[Any, ...]] = list(clock_rows([ClockDay("1", {ns: Server(False, 0) for ns in ("n1", "n2")})]))
    assert [(row[1], row[5], row[6]) for row in rows_] == [("n1", "none", None), ("n2", "none", None)]

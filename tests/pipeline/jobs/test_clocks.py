"""By how much clocks differ, told by heartbeats, data versions and looks; and times after the correction.

What each kind of journal means is shown by the plain reader, which `explain` uses. The jobs of a run are then held to
the plain reader, on all these journals at once: each is a day of the same name servers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.clocks.bounds import bounded_days
from rocketns.pipeline.clocks.days import Clocks, chained
from rocketns.pipeline.clocks.estimates import estimates
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs.clocks import clock_days, corrected
from tests.pipeline.frames import cut, rows
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    Journals,
    events_frame,
    random_journals,
    told_of,
    topic,
)

# Far from midnight, so that all clocks have the same day.
NOON = DAY_START + 12 * 3600 * SECOND
DAY_US = 86_400 * SECOND
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
                version = min(versions, beat // 3)
                journal.register(ts, broker, [topic("T", r=4 + (beat // 5))], version)
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


def watched(offset_s: float, look_s: int, registrations: int, servers: int = 1, *, alone: bool = False) -> Journals:
    """A name server with a journal of its own, and others whose registrations an observer saw, each at one of its
    looks."""
    journals = {} if alone else {"n1": Journal(NOON, "n1")}
    watching = {f"w{n}": [{"boot": NOON // 1000, "seq": 1, "ts": NOON, "ev": "start", "ns": f"w{n}", "observed": True}]
                for n in range(servers)}  # fmt: skip
    chance = random.Random(3)
    for number in range(registrations):
        broker, sent = Broker(f"broker-{number}", f"10.0.0.{number}:10911"), NOON + (10 + 40 * number) * SECOND
        if not alone:
            journals["n1"].register(sent, broker)
        for ns, records in watching.items():
            seen = sent + int(offset_s * SECOND) + chance.randrange(look_s * SECOND)
            named = {"cluster": "c", "broker": broker.name, "addr": broker.addr, "bid": 0}
            records.append({"boot": NOON // 1000, "seq": len(records) + 1, "ts": seen, "ev": "reg",
                            "since": seen - look_s * SECOND, "ns": ns, **named})  # fmt: skip
    return {**{ns: journal.records for ns, journal in journals.items()}, **watching}


def topics_made(offset_s: float, servers: int, apart_s: Sequence[float] = (0, 0, 0)) -> Journals:
    """Brokers that all know already get new topics, each a second after the other. The observer sees them 2 s later at
    one of its looks, each so much later as is said."""
    journals = watched(offset_s, 5, 0, servers) | fleet({"n1": 0}, versions=0)
    for number, late in enumerate(apart_s):
        broker, sent = f"broker-{number}", NOON + 1000 * SECOND + number * SECOND
        records = journals["n1"]
        records.append({"boot": NOON // 1000, "seq": len(records) + 1, "ts": sent, "ev": "tput", "ns": "n1",
                        "broker": broker, "cause": "heartbeat", "topics": [topic("T")]})  # fmt: skip
        for server in range(servers):
            records = journals[f"w{server}"]
            ts = sent + int((offset_s + 2 + late) * SECOND)
            records.append({"boot": NOON // 1000, "seq": len(records) + 1, "ts": ts, "since": ts - 5 * SECOND,
                            "ev": "tput", "ns": f"w{server}", "broker": broker, "cause": "observed",
                            "topics": [topic("T")]})  # fmt: skip
    return journals


Clock = tuple[float, str, str, float | None]  # offset in s, method, reference, uncertainty in s
N1: Clock = (0, "reference", "n1", 0)
# name → the journals, and the clocks of some of its name servers
CASES: dict[str, tuple[Callable[[], Journals], dict[str, Clock]]] = {
    "versions tell any offset": (
        lambda: fleet({"n1": 0, "n2": 47.3, "n3": -610}, versions=9),
        {"n1": N1, "n2": (47.3, "versions", "n1", 0.02), "n3": (-610, "versions", "n1", 0.02)},
    ),
    "an offset of a whole period cannot be told from none by heartbeats": (
        lambda: fleet({"n1": 0, "n2": 30}, versions=0), {"n2": (0, "heartbeats", "n1", 30)},
    ),
    "two versions are too few": (
        lambda: fleet({"n1": 0, "n2": 3.2}, versions=1, brokers=BROKERS[:2]), {"n2": (3.2, "heartbeats", "n1", 30)},
    ),
    "a version after a long silence tells nothing": (late_versions, {"n2": (0, "heartbeats", "n1", 30)}),
    "the reference is who heard the most": (
        lambda: fleet({"n1": 5, "n2": 0}, versions=9, silent_at_n1=True), {"n1": (5, "versions", "n2", 0.01)},
    ),
    "registrations tell the offset of an observer to the time between two looks": (
        lambda: watched(600, 5, 8, servers=2),
        {"n1": N1, "w0": (600, "observed", "n1", 1.07), "w1": (600, "observed", "n1", 1.07)},
    ),
    "new topics tell the offset of an observer where no broker comes": (
        lambda: topics_made(60, servers=2), dict.fromkeys(("w0", "w1"), (59.5, "observed", "n1", 3.5)),
    ),
    "a topic that came late does not move the offset of an observer": (
        lambda: topics_made(60, servers=1, apart_s=(0, 0, 300, -1)), {"w0": (59, "observed", "n1", 3)},
    ),
    "two registrations are too few for an observer": (
        lambda: watched(600, 5, 2), {"w0": (0, "observed", "n1", None)},
    ),
    "random journals have nothing in common": (
        lambda: random_journals(3, watched=0), {"n1": N1, "n2": (0, "none", "n1", None)},
    ),
}  # fmt: skip
# The same with a word of the operator that clocks are within a second.
GIVEN: dict[str, tuple[Callable[[], Journals], dict[str, Clock]]] = {
    "it bounds the clock of an observer": (lambda: watched(0, 5, 2), {"w0": (0, "observed", "n1", 1)}),
    "it tells which period the offset of heartbeats has": (
        lambda: fleet({"n1": 0, "n2": 0.5, "n3": -2.5}, versions=0),
        {"n2": (0.5, "given", "n1", 1), "n3": (-2.5, "heartbeats", "n1", 30)},
    ),
}  # fmt: skip


def days_of(journals: Journals, within: int | None = None) -> list[tuple[Any, ...]]:
    """CLOCK_DAYS by the plain reader. ``within``: --clocks, us."""
    told = told_of(journals, "T")
    days = bounded_days(chained(estimates(told.days, told.shown(), told.heard), Clocks()).days, within)
    return sorted((tuple(day) for day in days), key=repr)


def clocks_of(journals: Journals, within: int | None = None) -> dict[str, Clock]:
    return {
        row[1]: (round(row[2] / SECOND, 1), row[5], row[6], row[7] and round(row[7] / SECOND, 2))
        for row in days_of(journals, within)
    }


@pytest.mark.parametrize("case", [*CASES, *GIVEN])
def test_the_clocks_of_a_journal(case: str) -> None:
    """The word of the operator counts where records tell less."""
    journals, expected = (CASES | GIVEN)[case]
    assert clocks_of(journals(), SECOND if case in GIVEN else None).items() >= expected.items()


def test_where_all_were_watched_the_clock_of_the_observer_is_the_only_one() -> None:
    assert set(clocks_of(watched(3, 5, 8, servers=2, alone=True)).values()) == {(0, "observed", None, 0)}


def test_the_jobs_find_the_clocks_of_the_plain_reader_and_correct_times_by_them(spark: SparkSession) -> None:
    together: Journals = {}
    for day, (journals, _) in enumerate([*CASES.values(), *GIVEN.values()]):
        for ns, records in moved(journals(), day).items():
            together.setdefault(ns, []).extend(records)
    events = cut(events_frame(spark, together))
    for within in (SECOND, None):
        days = clock_days(events, within, cut)
        assert rows(days) == days_of(together, within)

    shifted = cut(corrected(events, days))
    assert shifted.schema.simpleString() == EVENTS.simpleString()
    starts = rows(shifted.where("ev = 'start' and dt = '2026-01-01'").select("ns", "ts"))
    assert [(ns, round((ts - NOON) / SECOND, 1)) for ns, ts in starts] == [("n1", 0), ("n2", 0), ("n3", 0)]
    assert rows(shifted.where("ns = 'w0'").selectExpr("max(ts - since)")) == [(5 * SECOND,)]


def moved(journals: Journals, day: int) -> Journals:
    """The same so many days later."""
    later = day * DAY_US
    return {
        ns: [
            {**record, "boot": record["boot"] + later // 1000}
            | {name: record[name] + later for name in ("ts", "since") if record.get(name) is not None}
            for record in records
        ]
        for ns, records in journals.items()
    }

"""By how much clocks differ, told by heartbeats and data versions; and state told after the correction."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.journal.reading.clockbounds import bounded_days
from rocketns.journal.reading.clockdays import Clocks, chained
from rocketns.journal.reading.clocks import estimates as plain_estimates
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS, OFFSETS
from rocketns.pipeline.jobs import divergence
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.clocks import clock_days, clock_offsets, corrected, estimates
from tests.pipeline.draws import seeds
from tests.pipeline.duck.history import clocks as duck
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
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
    worked_example,
)

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
                version = min(versions, beat // 3)
                journal.register(ts, broker, [topic("T", r=4 + (beat // 5))], version)
    return {ns: journal.records for ns, journal in journals.items()}


def offsets_of(spark: SparkSession, journals: Journals, within: int | None = None) -> dict[str, tuple[Any, ...]]:
    """offset in s, method, reference, uncertainty in s; held to the independent version and to what
    `explain` does on the way. ``within``: --clocks, us."""
    days_frame = clock_days(estimates(cut(events_frame(spark, journals)), cut), clocks_within_us=within)
    frame = clock_offsets(days_frame)
    assert frame.schema.simpleString() == OFFSETS.simpleString()
    found = rows(frame)
    told = told_of(journals, "T")
    days = bounded_days(chained(plain_estimates(told.days, told.shown(), told.heard), Clocks()).days, within)
    assert sorted((day[1:] for day in days), key=repr) == found
    db = duck_events(journals)
    assert found == (duck_rows(db, duck.OFFSETS) if within is None else duck.bounded(db, within))
    return {r[0]: (round(r[1] / SECOND, 1), r[4], r[5], r[6] and round(r[6] / SECOND, 2)) for r in found}


def test_versions_tell_any_offset(spark: SparkSession) -> None:
    journals = fleet({"n1": 0, "n2": 47.3, "n3": -610}, versions=9)
    assert offsets_of(spark, journals) == {
        "n1": (0, "reference", "n1", 0), "n2": (47.3, "versions", "n1", 0.02), "n3": (-610, "versions", "n1", 0.02),
    }  # fmt: skip


def test_heartbeats_tell_small_offsets_where_no_version_changed(spark: SparkSession) -> None:
    journals = fleet({"n1": 0, "n2": 3.2, "n3": -2.5}, versions=0)
    assert offsets_of(spark, journals) == {
        "n1": (0, "reference", "n1", 0), "n2": (3.2, "heartbeats", "n1", 30), "n3": (-2.5, "heartbeats", "n1", 30),
    }  # fmt: skip


def test_two_versions_are_too_few(spark: SparkSession) -> None:
    """Each broker changed its version once."""
    assert offsets_of(spark, fleet({"n1": 0, "n2": 3.2}, versions=1, brokers=BROKERS[:2]))["n2"][1] == "heartbeats"


def test_a_version_after_a_long_silence_tells_nothing(spark: SparkSession) -> None:
    """n2 hears each new version two minutes late, because it heard nothing meanwhile: its clock is right."""
    journals = {ns: Journal(NOON, ns) for ns in ("n1", "n2")}
    for beat in range(30):
        for number, broker in enumerate(BROKERS):
            ts = NOON + (1 + beat * 30 + number * 7) * SECOND
            for ns in ("n1",) if beat >= 6 and beat % 6 < 4 else journals:
                journals[ns].register(ts, broker, [topic("T")], beat // 6)
    found = offsets_of(spark, {ns: journal.records for ns, journal in journals.items()})
    assert found["n2"][:2] == (0, "heartbeats")


def test_the_reference_is_who_heard_the_most(spark: SparkSession) -> None:
    journals = fleet({"n1": 5, "n2": 0}, versions=9, silent_at_n1=True)
    assert offsets_of(spark, journals)["n1"][:3] == (5, "versions", "n2")


def test_the_worked_example_has_no_offset(spark: SparkSession) -> None:
    assert {offset for offset, *_ in offsets_of(spark, worked_example()).values()} == {0}


@pytest.mark.parametrize("seed", seeds(3))
def test_clocks_without_common_events_are_not_corrected(spark: SparkSession, seed: int) -> None:
    """Random journals have nothing in common."""
    found = offsets_of(spark, random_journals(seed, watched=0)).values()
    assert {(offset, method, uncertainty) for offset, method, _, uncertainty in found} == {
        (0, "reference", 0), (0, "none", None),
    }  # fmt: skip


def test_an_offset_of_a_whole_period_cannot_be_told_from_none_by_heartbeats(spark: SparkSession) -> None:
    """n2 is 30 s ahead, and every heartbeat of it meets the next one at n1: so the offset is said to be known only to
    a period."""
    found = offsets_of(spark, fleet({"n1": 0, "n2": 30}, versions=0))
    assert found["n2"] == (0, "heartbeats", "n1", 30)


def test_corrected_clocks_leave_only_real_differences(spark: SparkSession) -> None:
    """The same changes of a topic, 47 s apart by the clocks, make windows; after the correction there is none."""
    journals = fleet({"n1": 0, "n2": 47.3}, versions=9)
    events, observation = cut(events_frame(spark, journals)), Observation(NOON, NOON + 640 * SECOND)

    def windows(seen: Any) -> int:
        base = state.base(seen, observation, keep=cut)
        topics = cut(state.topic_intervals(seen, base, observation))
        return len(rows(divergence.key_windows(topics, base.uptime, observation, keep=cut)))

    shifted = cut(corrected(events, clock_days(estimates(events, cut))))
    assert shifted.schema.simpleString() == EVENTS.simpleString()
    assert (windows(events) > 0, windows(shifted)) == (True, 0)


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


def test_registrations_tell_the_offset_of_an_observer_to_the_time_between_two_looks(spark: SparkSession) -> None:
    found = offsets_of(spark, watched(600, 5, 8, servers=2))
    assert found["w0"] == found["w1"]
    offset, method, reference, uncertainty = found["w0"]
    assert (method, reference, uncertainty <= 3.5, abs(offset - 600) <= uncertainty) == ("observed", "n1", True, True)
    assert found["n1"] == (0, "reference", "n1", 0)


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


def test_new_topics_tell_the_offset_of_an_observer_where_no_broker_comes(spark: SparkSession) -> None:
    found = offsets_of(spark, topics_made(60, servers=2))
    assert found["w0"] == found["w1"] == (59.5, "observed", "n1", 3.5)


def test_a_topic_that_came_late_does_not_move_the_offset_of_an_observer(spark: SparkSession) -> None:
    found = offsets_of(spark, topics_made(60, servers=1, apart_s=(0, 0, 300, -1)))
    assert found["w0"] == (59, "observed", "n1", 3)


def test_topics_that_do_not_agree_tell_nothing(spark: SparkSession) -> None:
    assert offsets_of(spark, topics_made(60, servers=1, apart_s=(0, 0, 300, 300)))["w0"][1:] == ("observed", "n1", None)


def test_two_registrations_are_too_few_for_an_observer(spark: SparkSession) -> None:
    assert offsets_of(spark, watched(600, 5, 2))["w0"] == (0, "observed", "n1", None)


def test_two_registrations_and_the_word_of_the_operator_bound_the_clock_of_an_observer(spark: SparkSession) -> None:
    assert offsets_of(spark, watched(0, 5, 2), SECOND)["w0"] == (0, "observed", "n1", 1)


def test_the_word_of_the_operator_tells_which_period_the_offset_of_heartbeats_has(spark: SparkSession) -> None:
    found = offsets_of(spark, fleet({"n1": 0, "n2": 0.5, "n3": -2.5}, versions=0), SECOND)
    assert found["n2"] == (0.5, "given", "n1", 1)
    assert found["n3"] == (-2.5, "heartbeats", "n1", 30)


def test_what_versions_tell_counts_more_than_the_word_of_the_operator(spark: SparkSession) -> None:
    found = offsets_of(spark, fleet({"n1": 0, "n2": 47.3}, versions=9), SECOND)
    assert found["n2"] == (47.3, "versions", "n1", 0.02)


def test_where_all_were_watched_the_clock_of_the_observer_is_the_only_one(spark: SparkSession) -> None:
    assert set(offsets_of(spark, watched(3, 5, 8, servers=2, alone=True)).values()) == {(0, "observed", None, 0)}


def test_since_is_corrected_like_the_time_of_the_record(spark: SparkSession) -> None:
    events = cut(events_frame(spark, watched(600, 5, 8)))
    shifted = corrected(events, clock_days(estimates(events, cut)))
    (between,) = rows(shifted.where("ns = 'w0'").selectExpr("max(ts - since)"))
    assert between == (5 * SECOND,)

"""The offsets of clocks: from changes that two sides saw, from the word of an operator, and day by day. Times are s."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rocketns.pipeline.clocks.bounds import Known, bounded, bounded_days, contradicts
from rocketns.pipeline.clocks.days import Clocks, chained
from rocketns.pipeline.clocks.looks import LOOKS_MAX, TOPICS_MAX, Look, looks, met

S = 1_000_000
Record = dict[str, Any]


def own(ts: float, ev: str, seq: int = 1, **values: Any) -> Record:
    return {"ns": "n2", "boot": 1, "seq": seq, "ts": round(ts * S), "ev": ev, **values}


def seen(since: float, ts: float, ev: str, seq: int = 1, ns: str = "j1", **values: Any) -> Record:
    record = own(ts, ev, seq, **values) | {"ns": ns, "since": round(since * S)}
    return record | ({"cause": "observed"} if ev != "reg" else {})


def made(*names: str, broker: str = "b") -> Record:
    return {"broker": broker, "topics": [{"t": name} for name in names]}


def member(broker: str = "b") -> Record:
    return {"cluster": "c", "broker": broker, "bid": 0, "addr": f"{broker}:10911"}


def moments(found: list[Look]) -> list[tuple[float, float]]:
    """The moment of each, and the time of the later look."""
    return sorted((look.moment / S, (look.at + look.early / 2) / S) for look in found)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (own(100, "tput", cause="topic", **made("t")), seen(100, 105, "tput", **made("t"))),
        (own(100, "tput", cause="heartbeat", **made("t")), seen(100, 105, "tput", **made("t"))),
        (own(100, "reg", **member()), seen(100, 105, "reg", **member())),
        (own(100, "down", cause="unregister", **member()), seen(100, 105, "down", **member())),
    ],
    ids=["a topic is made", "a topic comes with a heartbeat", "a broker comes", "a broker leaves"],
)
def test_what_a_broker_sends_to_all_is_a_sample(ours: Record, theirs: Record) -> None:
    assert moments(looks([theirs], [ours])) == [(100, 105)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (own(100, "tput", cause="perm", **made("t")), seen(100, 105, "tput", **made("t"))),
        (own(100, "tput", cause="register", **made("t")), seen(100, 105, "tput", **made("t"))),
        (own(100, "down", cause="expired", **member()), seen(100, 105, "down", **member())),
        (own(100, "config", key="k", val="v"), seen(100, 105, "config", key="k", val="v")),
        (own(100, "tput", cause="topic", **made("t")), seen(100, 105, "tput", **made("t", broker="other"))),
        (own(100, "tput", cause="topic", **made("t")), seen(4000, 4005, "tput", **made("t"))),
    ],
    ids=["a permission", "topics of a broker that comes", "an expiry", "a property", "another broker", "too far apart"],
)
def test_what_one_name_server_alone_decides_is_no_sample(ours: Record, theirs: Record) -> None:
    assert looks([theirs], [ours]) == []


def test_records_of_many_topics_are_no_sample() -> None:
    names = [f"t{number}" for number in range(TOPICS_MAX + 1)]
    ours, theirs = own(100, "tput", cause="heartbeat", **made(*names)), seen(100, 105, "tput", **made(*names))
    assert looks([theirs], [ours]) == []


def test_only_records_that_are_nearest_to_each_other_belong_together() -> None:
    """The topic was made at 100; the broker came back at 400, which is told of as a registration."""
    theirs = [seen(95, 105, "tput", 1, **made("t")), seen(395, 405, "tput", 2, **made("t"))]
    assert moments(looks(theirs, [own(100, "tput", cause="topic", **made("t"))])) == [(100, 105)]


def look(since: float, ts: float, moment: float) -> Look:
    early = round((ts - since) * S)
    return Look(early, round(ts * S) - early // 2, round(moment * S))


def test_intervals_leave_an_offset_and_half_of_where_they_meet() -> None:
    """The offsets are within (0, 5), (-3, 2) and (1, 6), and 1 s more on both sides."""
    found = met([look(100, 105, 100), look(197, 202, 200), look(301, 306, 300)])
    assert found is not None
    assert (found.offset, found.uncertainty, found.samples, found.agreeing) == (1.5 * S, 1.5 * S, 3, 3)


def test_an_interval_elsewhere_does_not_move_the_offset() -> None:
    found = met([look(100, 105, 100), look(200, 205, 200), look(300, 305, 300), look(1000, 1005, 400)])
    assert found is not None
    assert (found.offset, found.uncertainty, found.samples, found.agreeing) == (2.5 * S, 3.5 * S, 4, 3)


def test_where_intervals_meet_at_two_places_the_offset_may_be_at_either() -> None:
    """With 1 s on both sides (-1, 6) meets (5, 14) and (-9, 0), which do not meet each other."""
    found = met([look(0, 5, 0), look(106, 113, 100), look(192, 199, 200)])
    assert found is not None
    assert (found.agreeing, found.offset, found.uncertainty) == (2, 2.5 * S, 3.5 * S)


def test_the_intervals_between_close_looks_count_if_there_are_many() -> None:
    close = [look(100, 101, 100)] * LOOKS_MAX
    found = met([*close, *[look(500, 700, 100)] * LOOKS_MAX])
    assert found is not None
    assert (found.samples, found.agreeing) == (LOOKS_MAX, LOOKS_MAX)


def known(method: str, offset: float, uncertainty: float | None) -> Known:
    return Known(method, round(offset * S), None if uncertainty is None else round(uncertainty * S))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (known("none", 0, None), known("given", 0, 2)),
        (known("observed", 0, None), known("observed", 0, 2)),
        (known("observed", 1, 200), known("observed", 1, 3)),
        (known("heartbeats", 0.5, None), known("given", 0.5, 2.5)),
    ],
    ids=["no samples", "watched, no samples", "watched, far between", "heartbeats of no known period"],
)
def test_the_word_bounds_a_clock_that_nothing_better_bounds(before: Known, after: Known) -> None:
    assert bounded(before, 2 * S) == after


@pytest.mark.parametrize(
    "clock",
    [known("reference", 0, 0), known("versions", 0.4, 0.02), known("observed", 0.4, 1), known("observed", 0, 0)],
    ids=["reference", "versions", "watched", "the only clock"],
)
def test_what_is_known_better_stays(clock: Known) -> None:
    assert bounded(clock, 2 * S) == clock


@pytest.mark.parametrize(("within", "off"), [(2, 1), (0.1, 0.6), (28, 1), (29, 29.5)])
def test_the_word_tells_which_multiple_of_the_period_an_offset_of_heartbeats_has(within: float, off: float) -> None:
    """0.5 s fits, and so do 30.5 s and -29.5 s, which may be 1 s less."""
    assert bounded(known("heartbeats", 0.5, 30), round(within * S)) == known("given", 0.5, off)


@pytest.mark.parametrize(
    "clock",
    [known("versions", -12, 0.02), known("observed", 12, 5), known("heartbeats", 12, 30)],
    ids=["versions", "watched", "heartbeats"],
)
def test_a_clock_that_was_measured_to_be_off_by_more_stays_as_measured(clock: Known) -> None:
    assert contradicts(clock, 2 * S)
    assert bounded(clock, 2 * S) == clock


def test_days_keep_their_offsets() -> None:
    days = [("1", "n1", 0, 0, 0, "reference", "n1", 0), ("1", "n2", 0, 0, 0, "none", "n1", None)]
    assert bounded_days(days, 5) == [days[0], ("1", "n2", 0, 0, 0, "given", "n1", 5)]


Estimate = dict[str, Any]


def versions(day: str, ns: str, *offsets: float, reference: str = "n1") -> Estimate:
    latest = [round(offset * S) for offset in offsets[:3]]
    middle = sorted(round(offset * S) for offset in offsets)[len(offsets) // 2]
    agreeing = sum(abs(offset * S - middle) <= S for offset in offsets)
    return estimate(day, ns, reference, "versions", middle, len(offsets), agreeing, 20_000, latest)


def beats(day: str, ns: str, offset: float, reference: str = "n1") -> Estimate:
    return estimate(day, ns, reference, "heartbeats", round(offset * S), 9, 9, 30 * S, [])


def nothing(day: str, ns: str, reference: str | None = "n1") -> Estimate:
    return estimate(day, ns, reference, None, None, None, None, None, None)


def estimate(day: str, ns: str, reference: str | None, method: str | None, *values: Any) -> Estimate:
    offset, samples, agreeing, uncertainty, latest = values
    return {
        "dt": day, "ns": ns, "reference": reference, "method": method, "offset": offset, "samples": samples,
        "spread": 0, "agreeing": agreeing, "uncertainty": uncertainty, "latest": latest,
    }  # fmt: skip


def offsets(rows: list[Estimate]) -> list[tuple[str, str, float, str]]:
    return [(day, ns, offset / S, method) for day, ns, offset, _, _, method, *_ in chained(rows, Clocks()).days]


def of(rows: list[Estimate], wanted: str) -> list[tuple[float, str]]:
    return [(offset, method) for _, ns, offset, method in offsets(rows) if ns == wanted]


def test_a_clock_that_was_set_has_another_offset_from_the_next_day_on() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 5, 5, 5), nothing("2", "n1"), versions("2", "n2", 60, 60, 60)]
    assert of(rows, "n2") == [(5, "versions"), (60, "versions")]
    assert of(rows, "n1") == [(0, "reference")] * 2


def test_a_day_without_versions_has_the_offset_of_the_day_before() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), nothing("2", "n2")]
    assert of(rows, "n2") == [(47, "versions")] * 2


def test_heartbeats_let_a_known_offset_follow_a_drift() -> None:
    """47.2 s is 17.2 s more than a period of 30 s, and the nearest heartbeat is 12.8 s before."""
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), beats("2", "n2", -12.8)]
    assert of(rows, "n2") == [(47, "versions"), (47.2, "versions")]


def test_heartbeats_that_contradict_a_known_offset_replace_it() -> None:
    rows = [nothing("1", "n1"), versions("1", "n2", 47, 47, 47), nothing("2", "n1"), beats("2", "n2", 3)]
    assert of(rows, "n2") == [(47, "versions"), (3, "heartbeats")]


def test_versions_of_several_days_count_together() -> None:
    rows = [row for day in "123" for row in (nothing(day, "n1"), versions(day, "n2", 47), beats(day, "n2", -13))]
    assert of(rows, "n2") == [(-13, "heartbeats"), (-13, "heartbeats"), (47, "versions")]


def test_the_reference_stays_where_another_name_server_heard_more() -> None:
    """On day 2 the offsets are those against n2, on day 3 n1 is not heard at all."""
    rows = [
        nothing("1", "n1"), versions("1", "n2", 5, 5, 5), versions("1", "n3", 9, 9, 9),
        versions("2", "n1", -6, -6, -6, reference="n2"), nothing("2", "n2", "n2"),
        versions("2", "n3", 4, 4, 4, reference="n2"),
        nothing("3", "n2", "n2"), versions("3", "n3", 1, 1, 1, reference="n2"),
    ]  # fmt: skip
    assert of(rows, "n1") == [(0, "reference")] * 3
    assert of(rows, "n2") == [(5, "versions"), (6, "versions"), (6, "versions")]
    assert of(rows, "n3") == [(9, "versions"), (10, "versions"), (7, "versions")]


def test_nobody_is_known_where_no_broker_was_heard() -> None:
    assert offsets([nothing("1", "n1", None), nothing("1", "n2", None)]) == [
        ("1", "n1", 0, "none"), ("1", "n2", 0, "none"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_goes_on_has_the_clocks_of_one_over_everything(seed: int) -> None:
    chance = random.Random(seed)
    rows = [row for day in range(10, 19) for row in random_day(chance, str(day))]
    cuts = sorted(chance.sample(range(10, 19), 3))
    clocks = Clocks()
    for low, high in zip([10, *cuts], [*cuts, 99], strict=True):
        clocks = chained([row for row in rows if low <= int(row["dt"]) < high], clocks)
    assert clocks == chained(rows, Clocks())


def random_day(chance: random.Random, day: str) -> list[Estimate]:
    there = [ns for ns in ("n1", "n2", "n3") if chance.random() < 0.8]
    reference = chance.choice(there) if there and chance.random() < 0.9 else None
    return [row for ns in there for row in random_estimates(chance, day, ns, reference)]


def random_estimates(chance: random.Random, day: str, ns: str, reference: str | None) -> list[Estimate]:
    found = []
    if reference is not None and ns != reference:
        if chance.random() < 0.6:
            near = [40 + chance.random() for _ in range(chance.randint(1, 5))]
            found.append(versions(day, ns, *near, reference=reference))
        if chance.random() < 0.6:
            found.append(beats(day, ns, chance.choice([10, 10.4, -3]), reference))
    return found or [nothing(day, ns, reference)]

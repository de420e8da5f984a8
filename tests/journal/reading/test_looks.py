"""The offset of an observer's clock from changes that both sides saw. Times are s."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.journal.reading.looks import LOOKS_MAX, TOPICS_MAX, Look, looks, met

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


def test_a_record_of_several_topics_is_one_sample() -> None:
    ours, theirs = own(100, "tput", cause="topic", **made("t", "u")), seen(100, 105, "tput", **made("t", "u"))
    assert len(looks([theirs], [ours])) == 1


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


def test_of_no_samples_nothing_is_found() -> None:
    assert met([]) is None

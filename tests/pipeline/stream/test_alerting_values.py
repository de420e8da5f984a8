"""Which name servers are compared up to which moment, and which alerts open and close: plain values, no Spark."""

from __future__ import annotations

from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.stream.changes import Condition, changes
from rocketns.pipeline.stream.conditions import heard_again, kills, partition, partition_of, silences
from rocketns.pipeline.stream.servers import Boot, Servers, Uptime, servers_at_watermark

S = 1_000_000
SILENT_AFTER = 60 * S


def boot(ns: str, last_s: float, *, start_s: int = 1, stopped_s: int | None = None, known: bool = True,
         compared: bool = False) -> Boot:  # fmt: skip
    stopped = None if stopped_s is None else stopped_s * S
    return Boot(ns, start_s * 1000, start_s * S if known else None, stopped, round(last_s * S), compared)


def test_the_watermark_is_the_earliest_end_of_a_journal_and_never_goes_back() -> None:
    first = servers_at_watermark([], [boot("n1", 50), boot("n2", 40)], None, SILENT_AFTER)
    assert (first.before, first.watermark, first.silent) == (1 * S, 40 * S, frozenset())
    again = servers_at_watermark(first.remembered(), [boot("n3", 35)], first.watermark, SILENT_AFTER)
    assert (again.before, again.watermark) == (40 * S, 40 * S)


def test_a_journal_that_lags_is_silent_and_neither_waited_for_nor_compared() -> None:
    late = servers_at_watermark([], [boot("n1", 200), boot("n2", 100)], 90 * S, SILENT_AFTER)
    assert (late.watermark, late.silent) == (200 * S, {"n2"})
    assert late.uptime() == [Uptime("n1", 1000, 90 * S, 200 * S, "open")]
    assert [condition.key for condition in silences(late)] == ["n2"]


def test_a_stopped_name_server_is_not_waited_for() -> None:
    stopped = servers_at_watermark([], [boot("n1", 200), boot("n2", 100, stopped_s=100)], 90 * S, SILENT_AFTER)
    assert (stopped.watermark, stopped.silent) == (200 * S, frozenset())
    assert stopped.uptime()[1] == Uptime("n2", 1000, 90 * S, 100 * S, "stop")


def test_a_boot_without_a_stop_ends_with_its_last_record() -> None:
    killed = servers_at_watermark([boot("n1", 50)], [boot("n1", 90, start_s=70)], 40 * S, SILENT_AFTER)
    assert killed.uptime() == [Uptime("n1", 1000, 40 * S, 50 * S, "lost"), Uptime("n1", 70_000, 70 * S, 90 * S, "open")]
    (found,) = kills(killed, [boot("n1", 50)])
    assert (found.key, found.since, found.over) == ("n1|1000", 50 * S, (70 * S, "it is up"))
    assert kills(killed, killed.boots) == []


def test_a_journal_that_begins_in_the_middle_is_compared_when_a_snapshot_has_ended() -> None:
    unknown = servers_at_watermark([], [boot("n1", 50), boot("n2", 50, known=False)], 10 * S, SILENT_AFTER)
    assert [span.ns for span in unknown.uptime()] == ["n1"]
    known = boot("n2", 70)._replace(known=65 * S)
    later = servers_at_watermark(unknown.remembered(), [boot("n1", 70), known], unknown.watermark, SILENT_AFTER)
    assert Uptime("n2", 1000, 65 * S, 70 * S, "open") in later.uptime()
    assert later.changed


def test_every_route_is_looked_at_only_when_others_are_compared_than_before() -> None:
    first = servers_at_watermark([], [boot("n1", 50), boot("n2", 50)], None, SILENT_AFTER)
    same = servers_at_watermark(first.remembered(), [boot("n1", 60), boot("n2", 60)], first.watermark, SILENT_AFTER)
    more = servers_at_watermark(
        same.remembered(), [boot("n1", 70), boot("n2", 70), boot("n3", 70)], same.watermark, SILENT_AFTER
    )
    assert (first.changed, same.changed, more.changed) == (True, False, True)


def wrong(key: str = "k", over: tuple[int, str] | None = None) -> Condition:
    return Condition("divergence", key, 5 * S, "text", {"topics": 2}, over)


def test_an_alert_opens_once_and_closes_once() -> None:
    first = changes([], [wrong()], {}, 10 * S)
    (line,) = first.lines
    assert (line["event"], line["at"], line["since"], line["topics"]) == (
        "open",
        exact_text(10 * S),
        exact_text(5 * S),
        2,
    )
    assert changes(first.open, [wrong()], {}, 20 * S).lines == []
    closed = changes(first.open, [wrong(over=(25 * S, "why"))], {}, 30 * S)
    assert [(line["event"], line["alert"], line["at"], line["reason"]) for line in closed.lines] == [
        ("close", first.lines[0]["alert"], exact_text(25 * S), "why")
    ]
    assert closed.open == []


def test_a_condition_between_two_cuts_opens_and_closes() -> None:
    both = changes([], [wrong(over=(8 * S, "why"))], {}, 10 * S)
    assert [line["event"] for line in both.lines] == ["open", "close"]
    assert both.open == []


def test_a_condition_that_comes_back_is_another_alert() -> None:
    first = changes([], [wrong()], {}, 10 * S)
    gone = changes(first.open, [], {}, 20 * S)
    assert gone.lines[0]["reason"] == "over"
    again = changes(gone.open, [wrong()], {}, 30 * S)
    assert again.lines[0]["alert"] != first.lines[0]["alert"]


def test_an_alert_stays_open_where_its_reason_is_empty() -> None:
    first = changes([], [wrong()], {}, 10 * S)
    assert changes(first.open, [], {"k": ""}, 20 * S).open == first.open
    assert changes(first.open, [], {"k": "heard again"}, 20 * S).lines[0]["reason"] == "heard again"


def open_partition() -> tuple[Alert, Servers]:
    row = {
        "ns": "n2",
        "cluster": "c",
        "broker": "b|1",
        "bid": 0,
        "addr": "10.0.0.1:1",
        "since": 20 * S,
        "cause": "late",
    }
    found = partition({**row, "by": ["n1"]})
    alert = Alert("id", "partition", found.key, found.since, 60 * S, found.text)
    assert partition_of(alert) == {name: row[name] for name in ("ns", "cluster", "broker", "bid", "addr")}
    return alert, servers_at_watermark([], [boot("n1", 90), boot("n2", 90)], 60 * S, SILENT_AFTER)


def test_a_partition_is_over_when_the_broker_is_heard_again() -> None:
    alert, now = open_partition()
    assert heard_again(alert, {"up": True, "heard": 80 * S}, ["n1", "n2"], now) == "heard again"
    assert heard_again(alert, {"up": True, "heard": 20 * S}, ["n1", "n2"], now) == ""


def test_a_partition_is_over_when_nobody_hears_the_broker() -> None:
    alert, now = open_partition()
    assert heard_again(alert, None, ["n2"], now) == "gone at the other name servers too"


def test_a_partition_is_over_when_its_name_server_starts_anew() -> None:
    alert, now = open_partition()
    restarted = servers_at_watermark(
        now.boots, [boot("n2", 95, start_s=80), boot("n1", 95)], now.watermark, SILENT_AFTER
    )
    assert heard_again(alert, None, ["n1"], restarted) == "n2 stopped or restarted"

"""Which alerts open and close, of which name servers, and what they say; plain values, no Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.saying import speaking
from rocketns.pipeline.stream.changes import Condition, changes
from rocketns.pipeline.stream.conditions import (
    divergence,
    heard_again,
    kills,
    losses,
    partition,
    partition_of,
    silences,
)
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


def wrong(over: tuple[int, str] | None = None) -> Condition:
    return Condition("divergence", "k", 5 * S, "text", {"topics": 2}, over)


def test_an_alert_opens_once_and_closes_once() -> None:
    first = changes([], [wrong()], {}, 10 * S)
    (line,) = first.lines
    said = (line["event"], line["at"], line["since"], line["topics"])
    assert said == ("open", exact_text(10 * S), exact_text(5 * S), 2)
    assert changes(first.open, [wrong()], {}, 20 * S).lines == []
    closed = changes(first.open, [wrong((25 * S, "why"))], {}, 30 * S)
    assert [(line["event"], line["alert"], line["at"], line["reason"]) for line in closed.lines] == [
        ("close", first.lines[0]["alert"], exact_text(25 * S), "why")
    ]
    assert closed.open == []
    # A condition between two cuts opens and closes; one that comes back is another alert.
    assert [line["event"] for line in changes([], [wrong((8 * S, "why"))], {}, 10 * S).lines] == ["open", "close"]
    gone = changes(first.open, [], {}, 20 * S)
    assert gone.lines[0]["reason"] == "over"
    assert changes(gone.open, [wrong()], {}, 30 * S).lines[0]["alert"] != first.lines[0]["alert"]
    # It stays open where its reason is empty.
    assert changes(first.open, [], {"k": ""}, 20 * S).open == first.open
    assert changes(first.open, [], {"k": "heard again"}, 20 * S).lines[0]["reason"] == "heard again"


def test_a_partition_is_over_when_the_broker_is_heard_again_or_by_nobody_or_after_a_restart() -> None:
    named = {"ns": "n2", "cluster": "c", "broker": "b|1", "bid": 0, "addr": "10.0.0.1:1"}
    row = {**named, "since": 20 * S, "cause": "late"}
    found = partition({**row, "by": ["n1"]})
    alert = Alert("id", "partition", found.key, found.since, 60 * S, found.text)
    assert partition_of(alert) == named
    now = servers_at_watermark([], [boot("n1", 90), boot("n2", 90)], 60 * S, SILENT_AFTER)
    assert heard_again(alert, {"up": True, "heard": 80 * S}, ["n1", "n2"], now) == "heard again"
    assert heard_again(alert, {"up": True, "heard": 20 * S}, ["n1", "n2"], now) == ""
    assert heard_again(alert, None, ["n2"], now) == "gone at the other name servers too"
    boots = [boot("n2", 95, start_s=80), boot("n1", 95)]
    restarted = servers_at_watermark(now.boots, boots, now.watermark, SILENT_AFTER)
    assert heard_again(alert, None, ["n1"], restarted) == "n2 stopped or restarted"


BROKER, TOPIC = "\x1b[2J is fine", "t\u202e" + "x" * 100_000


def test_the_words_of_a_partition_are_harmless_and_its_details_exact() -> None:
    row = {"ns": "n2", "cluster": "c", "broker": BROKER, "bid": 0, "addr": "1.2.3.4:5\x07", "cause": "late",
           "by": ["n1"], "since": 7}  # fmt: skip
    told = partition(row)
    assert told.text == ("n2 does not hear “\\x1b[2J is fine” at 1.2.3.4:5\\x07, but n1 does (its heartbeat is late)")
    assert told.details["broker"] == BROKER


def test_the_words_of_a_divergence_are_harmless_and_its_details_exact() -> None:
    row = {"broker": BROKER, "cause": "expired", "t1": 7, "t2": 9, "open": True, "topics": 1, "user_topics": 1,
           "topic_sample": [TOPIC], "ns_without": ["n2"], "opened_by": ["n2"]}  # fmt: skip
    told = divergence(row)
    assert told.text.startswith(
        "name servers disagree about 1 user topic of “\\x1b[2J is fine” (expired, n2 without it at first): t\\u202e"
    )
    assert visible(told.text) == told.text
    assert len(told.text) < 300
    assert told.details["topic_sample"] == [TOPIC]


def test_a_journal_that_nobody_writes_any_more_says_nothing_of_the_name_server() -> None:
    boot = Boot("n1", 1, 1, None, 2, True, None, observed=True)
    (silent,) = silences(Servers((boot,), frozenset({"n1"}), 1, 5))
    assert "nobody watches it any more, or its files do not arrive" in silent.text
    assert "down" not in silent.text


def test_the_end_of_watching_is_no_kill() -> None:
    first, second = (Boot("n1", number, 1, None, 2, True, None, observed=True) for number in (1, 2))
    assert kills(Servers((first, second), frozenset(), 1, 5), [first]) == []
    ends = [span.end_cause for span in Servers((first, second), frozenset(), 1, 5).uptime()]
    assert ends == ["unwatched", "open"]


def one_of_each() -> list[Condition]:
    """A condition of each text, with names that have no letters."""
    gone = {"ns": "1", "cluster": "2", "broker": "3", "bid": 0, "addr": "4:5", "by": ["6"], "since": 7}
    differs: Mapping[str, Any] = {
        "broker": "3", "t1": 7, "t2": 9, "topics": 2, "topic_sample": ["8", "9"], "opened_by": ["1"], "cause": "0"
    }  # fmt: skip
    watched, running = (Boot("1", 1, 1, None, 2, True, None, observed=observed) for observed in (True, False))
    again = running._replace(boot=2)
    return [
        *(partition({**gone, "cause": cause}) for cause in ("late", "0")),
        *(divergence({**differs, "user_topics": users, "open": users > 0, "ns_without": without})
          for users, without in ((2, []), (0, ["1"]))),
        *(silences(Servers((boot,), frozenset({"1"}), 1, 5))[0] for boot in (watched, running)),
        *kills(Servers((running, again), frozenset(), 1, 5), [running]),
        *losses([{"ns": "1", "lost": lost, "corrupt": corrupt} for lost, corrupt in ((1, 0), (0, 1), (1, 1))],
                Servers((), frozenset(), 0, 9)),
    ]  # fmt: skip


@pytest.mark.usefixtures("chinese")
def test_what_people_read_of_an_alert_is_chinese_and_what_programs_read_is_the_same() -> None:
    made = one_of_each()
    said = [*(one.text for one in made), *(one.over[1] for one in made if one.over)]
    assert [text for text in said if re.search(r"[A-Za-z]{2,}", text) or not re.search(r"[\u4e00-\u9fff]", text)] == []
    lines = changes([], made, {}, 10).lines
    with speaking("en"):
        english = changes([], one_of_each(), {}, 10).lines
    read = [{name: value for name, value in line.items() if name not in ("text", "reason")} for line in lines]
    assert read == [{name: line[name] for name in line if name not in ("text", "reason")} for line in english]


def test_a_name_server_loads_nothing_of_spark() -> None:
    code = "import sys, rocketns.__main__, rocketns.startup; print(*{name.split('.')[0] for name in sys.modules})"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert not {"pyspark", "py4j"} & set(out.stdout.split())

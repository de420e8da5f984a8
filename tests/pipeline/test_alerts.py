"""Which alerts open and close, of which name servers, and what they say; alerts in the file, at a webhook and at an
Alertmanager: each once, and a silent address never stops the stream. Plain values, no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from interop.harness.ports import free_port
from interop.harness.wire import eventually
from rocketns.pipeline.contract.schema import NS_UPTIME
from rocketns.pipeline.contract.terms import BadInput, exact_text
from rocketns.pipeline.jobs.state import Boot, Snapshot
from rocketns.pipeline.stream.conditions import (
    Condition,
    changes,
    heard_again,
    kills,
    partition,
    silences,
)
from rocketns.pipeline.stream.memory import servers_at_watermark
from rocketns.pipeline.stream.outlets import LINES_MAX, REPEAT_S, AlertLog, Alertmanager, Line, Webhook

S = 1_000_000
SILENT_AFTER = 60 * S


def boot(ns: str, last_s: float, *, start_s: int = 1, stopped_s: int | None = None, known: bool = True) -> Boot:
    stopped, last = None if stopped_s is None else stopped_s * S, round(last_s * S)
    return Boot(ns, start_s * 1000, start_s * S, last, start_s * S, stopped, False, False, known, [], [], last)


def up(ns: str, number: int, t1: int, t2: int, cause: str) -> dict[str, object]:
    values = (ns, number, t1, t2, cause, False, False)
    return dict(zip(NS_UPTIME.names, values, strict=True))


def test_the_watermark_is_the_earliest_end_of_a_journal_and_never_goes_back() -> None:
    first = servers_at_watermark([], [boot("n1", 50), boot("n2", 40)], None, SILENT_AFTER)
    assert (first.before, first.watermark, first.silent) == (1 * S, 40 * S, frozenset())
    again = servers_at_watermark(first.boots, [boot("n3", 35)], first.watermark, SILENT_AFTER)
    assert (again.before, again.watermark) == (40 * S, 40 * S)


def test_a_journal_that_lags_is_silent_and_neither_waited_for_nor_compared() -> None:
    late = servers_at_watermark([], [boot("n1", 200), boot("n2", 100)], 90 * S, SILENT_AFTER)
    assert (late.watermark, late.silent) == (200 * S, {"n2"})
    assert late.uptime() == [up("n1", 1000, 90 * S, 200 * S, "open")]
    assert [condition.key for condition in silences(late)] == ["n2"]
    stopped = servers_at_watermark([], [boot("n1", 200), boot("n2", 100, stopped_s=100)], 90 * S, SILENT_AFTER)
    assert (stopped.watermark, stopped.silent) == (200 * S, frozenset())
    assert stopped.uptime()[1] == up("n2", 1000, 90 * S, 100 * S, "stop")


def test_a_boot_without_a_stop_ends_with_its_last_record() -> None:
    killed = servers_at_watermark([boot("n1", 50)], [boot("n1", 90, start_s=70)], 40 * S, SILENT_AFTER)
    assert killed.uptime() == [up("n1", 1000, 40 * S, 50 * S, "lost"), up("n1", 70_000, 70 * S, 90 * S, "open")]
    (found,) = kills(killed, [boot("n1", 50)])
    assert (found.key, found.since, found.over) == ("n1|1000", 50 * S, (70 * S, "it is up"))
    assert kills(killed, killed.boots) == []


def test_a_journal_that_begins_in_the_middle_is_compared_when_a_snapshot_has_ended() -> None:
    unknown = servers_at_watermark([], [boot("n1", 50), boot("n2", 50, known=False)], 10 * S, SILENT_AFTER)
    assert [row["ns"] for row in unknown.uptime()] == ["n1"]
    known = boot("n2", 70, known=False)._replace(snapshots=[Snapshot(1, 2, 65 * S)])
    later = servers_at_watermark(unknown.boots, [boot("n1", 70), known], unknown.watermark, SILENT_AFTER)
    assert up("n2", 1000, 65 * S, 70 * S, "open") in later.uptime()
    assert later.changed(unknown.compared())


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
    (alert,) = changes([], [found], {}, 60 * S).open
    assert {name: alert[name] for name in named} == named
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


def test_the_end_of_watching_is_no_kill() -> None:
    first, second = (boot("n1", last, start_s=last - 1)._replace(observed=True) for last in (2, 9))
    now = servers_at_watermark([first], [second], 1, SILENT_AFTER)
    assert kills(now, [first]) == []
    assert [row["end_cause"] for row in now.uptime()] == ["unwatched", "open"]


def test_a_name_server_loads_nothing_of_spark() -> None:
    code = "import sys, rocketns.__main__, rocketns.startup; print(*{name.split('.')[0] for name in sys.modules})"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert not {"pyspark", "py4j"} & set(out.stdout.split())


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_file_holds_each_batch_once_after_replays_and_crashes(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "a" / "alerts.jsonl")
    log.show(0, [{"alert": "x"}, {"alert": "ü"}])
    log.show(1, [])
    for _ in range(2):
        log.show(2, [{"alert": "z"}])
        assert [(line["batch"], line["alert"]) for line in lines(log.path)] == [(0, "x"), (0, "ü"), (2, "z")]
    with log.path.open("ab") as file:
        file.write(b'{"alert": "y", "ba')
    log.show(3, [{"alert": "y"}])
    assert [line["alert"] for line in lines(log.path)] == ["x", "ü", "z", "y"]
    log.show(0, [{"alert": "all again"}])
    assert [line["alert"] for line in lines(log.path)] == ["all again"]


def test_a_name_cannot_end_a_line_or_disturb_a_terminal(tmp_path: Path) -> None:
    name = "a\u2028b\u0085c\u009b31m\u202e\ud800"
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.show(0, [{"broker": name}])
    log.show(1, [{"broker": "next"}])
    assert log.path.read_bytes().isascii()
    assert [line["broker"] for line in lines(log.path)] == [name, "next"]


class Receiver(HTTPServer):
    """Answers with the statuses of a list, then with 200, and keeps the bodies that it gets."""

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = statuses
        self.bodies: list[Any] = []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    server = Receiver(list(statuses))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_a_webhook_does_not_take_is_said_and_sent_with_the_next_batch() -> None:
    said: list[str] = []
    with receiver(503, 307) as server:
        hook = Webhook(server.url, said.append)
        for batch in range(4):
            hook.show(batch, [{"alert": "x"}] if batch < 2 else [], [])
    first, second = ({"alert": "x", "batch": batch} for batch in (0, 1))
    # urllib would follow a redirect without the alerts, and take that answer for theirs.
    assert server.bodies == [{"alerts": [first]}, {"alerts": [first, second]}, {"alerts": [first, second]}]
    place = server.url.removesuffix("/hook")
    assert said == [f"webhook: 1 alert was not delivered to {place}: HTTP 503",
                    f"webhook: 2 alerts were not delivered to {place}: HTTP 307"]  # fmt: skip


def test_the_last_of_many_unsent_alerts_are_sent() -> None:
    with receiver() as server:
        Webhook(server.url, pytest.fail).show(0, [{"alert": str(number)} for number in range(LINES_MAX + 1)], [])
    ((first, *_),) = (body["alerts"] for body in server.bodies)
    assert first["alert"] == "1"


def test_the_secret_of_an_address_is_not_said() -> None:
    """An address of a chat's webhook is a secret as a whole but for its host."""
    said: list[str] = []
    Webhook("http://user:pass@127.0.0.1:1/services/T00/secret?token=secret", said.append).show(0, [{}], [])
    assert said[0].startswith("webhook: 1 alert was not delivered to http://127.0.0.1:1: ")
    assert "pass" not in said[0]
    assert "secret" not in said[0]
    for wrong in ("ftp://host/secret", "http://host:abc/secret"):
        with pytest.raises(BadInput, match="--webhook: the address must begin with http:// or https://") as refused:
            Webhook(wrong, said.append)
        assert "secret" not in str(refused.value)


def condition(key: str = "k") -> Condition:
    return Condition("partition", key, 5 * S, "n2 does not hear broker-b", {"ns": "n2"})


class Shown:
    """An Alertmanager behind a clock that the test moves, and the alerts that are open."""

    def __init__(self, url: str) -> None:
        self.seconds = 0.0
        self.said: list[str] = []
        self.manager = Alertmanager(url, self.said.append, lambda: self.seconds)
        self.open: list[Line] = []

    def batch(self, cut_s: int, *conditions: Condition) -> None:
        found = changes(self.open, conditions, {}, cut_s * S)
        self.open = found.open
        self.manager.show(0, found.lines, found.open)


def test_an_alert_is_sent_when_it_opens_every_minute_and_when_it_closes() -> None:
    with receiver() as server:
        shown = Shown(server.url)
        shown.batch(10, condition())
        shown.batch(20, condition())
        shown.seconds = REPEAT_S
        shown.batch(30, condition())
        shown.batch(40)
    opened, repeated, closed = server.bodies
    assert opened == repeated
    assert opened[0]["startsAt"] == closed[0]["startsAt"] == "1970-01-01T00:00:05.000Z"
    assert opened[0]["labels"] == closed[0]["labels"]
    assert opened[0]["labels"]["alertname"] == "rocketns_partition"
    assert ("endsAt" in opened[0], closed[0]["endsAt"]) == (False, "1970-01-01T00:00:40.000Z")


def test_unsent_alerts_are_sent_with_the_next_batch() -> None:
    with receiver(503) as server:
        shown = Shown(server.url)
        shown.batch(10, condition())
        shown.batch(20, condition())
    assert server.bodies[0] == server.bodies[1]
    assert shown.said[0].startswith("alertmanager: 1 alert was not delivered to ")


@pytest.mark.slow
@pytest.mark.needs("prometheus-alertmanager")
def test_the_real_alertmanager_shows_an_open_alert_and_resolves_a_closed_one(tmp_path: Path) -> None:
    config = tmp_path / "config.yml"
    config.write_text("route:\n  receiver: none\nreceivers:\n  - name: none\n", "utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = [f"--config.file={config}", f"--storage.path={tmp_path}", f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        command = ["prometheus-alertmanager", *words, "--cluster.listen-address="]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        shown = Shown(url)
        eventually(lambda: _is_taken(shown))
        (alert,) = _alerts(url)
        assert (alert["labels"]["kind"], alert["annotations"]["summary"]) == ("partition", "n2 does not hear broker-b")
        assert alert["status"]["state"] == "active"
        shown.batch(20)
        eventually(lambda: _alerts(url) == [])
    finally:
        process.terminate()
        process.wait(60)


def _is_taken(shown: Shown) -> bool:
    shown.said.clear()
    shown.batch(10, condition())
    return not shown.said


def _alerts(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/v2/alerts", timeout=5) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found

"""Alerts in the file, at a webhook and at an Alertmanager: each once, and a silent address never stops the stream."""

from __future__ import annotations

import json
import socket
import subprocess
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
from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage.alertlog import WAITS_S, AlertLog, Webhook
from rocketns.pipeline.storage.alertmanager import REPEAT_S, Alertmanager
from rocketns.pipeline.stream.changes import Condition, changes


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_file_holds_each_batch_once_after_replays_and_crashes(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "a" / "alerts.jsonl")
    log.write(0, [{"alert": "x"}, {"alert": "ü"}])
    log.write(1, [])
    for _ in range(2):
        log.write(2, [{"alert": "z"}])
        assert [(line["batch"], line["alert"]) for line in lines(log.path)] == [(0, "x"), (0, "ü"), (2, "z")]
    with log.path.open("ab") as file:
        file.write(b'{"alert": "y", "ba')
    log.write(3, [{"alert": "y"}])
    assert [line["alert"] for line in lines(log.path)] == ["x", "ü", "z", "y"]
    log.write(0, [{"alert": "all again"}])
    assert [line["alert"] for line in lines(log.path)] == ["all again"]


def test_a_name_cannot_end_a_line_or_disturb_a_terminal(tmp_path: Path) -> None:
    name = "a\u2028b\u0085c\u009b31m\u202e\ud800"
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.write(0, [{"broker": name}])
    log.write(1, [{"broker": "next"}])
    assert log.path.read_bytes().isascii()
    assert [line["broker"] for line in lines(log.path)] == [name, "next"]


class Receiver(HTTPServer):
    """Answers with the statuses of a list, then with 200, and keeps the bodies that it gets."""

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses, self.bodies, self.keys = statuses, [], []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.keys.append(self.headers["Idempotency-Key"])
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


def test_a_batch_is_posted_once_and_a_replay_skips_it(tmp_path: Path) -> None:
    with receiver() as server:
        for _ in range(2):
            assert Webhook(server.url, tmp_path / "delivered", pytest.fail).post(4, [{"alert": "x"}])
    assert server.bodies == [{"batch": 4, "alerts": [{"alert": "x"}], "total": 1}]


def test_a_server_error_is_tried_again_under_the_same_key(tmp_path: Path) -> None:
    slept: list[float] = []
    with receiver(503, 429) as server:
        assert Webhook(server.url, tmp_path / "delivered", pytest.fail, slept.append).post(0, [{"alert": "x"}])
    assert (slept, server.keys) == (list(WAITS_S[:2]), ["rocketns-0"] * 3)


def test_tries_are_bounded_and_the_failure_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    with receiver(*[500] * 9) as server:
        assert not Webhook(server.url, tmp_path / "delivered", said.append, lambda _: None).post(7, [{}, {}])
    assert len(server.bodies) == len(WAITS_S) + 1
    place = server.url.removesuffix("/hook")
    assert said == [f"webhook: 2 alerts of batch 7 were not delivered to {place}: answered 500"]


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 abc\r\n\r\n", b""])
def test_an_answer_that_is_not_http_does_not_end_the_stream(tmp_path: Path, answer: bytes) -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_answer, args=(server, answer, len(WAITS_S) + 1))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert not Webhook(url, tmp_path / "delivered", said.append, lambda _: None).post(0, [{}])
        thread.join()
    assert said[0].startswith("webhook: 1 alert of batch 0 was not delivered")


def _answer(server: socket.socket, answer: bytes, times: int) -> None:
    for _ in range(times):
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)


def test_the_secret_of_an_address_is_not_said(tmp_path: Path) -> None:
    """An address of a chat's webhook is a secret as a whole but for its host."""
    said: list[str] = []
    url = "http://user:pass@127.0.0.1:1/services/T00/secret?token=secret"
    assert not Webhook(url, tmp_path / "delivered", said.append, lambda _: None).post(0, [{}])
    assert said[0].startswith("webhook: 1 alert of batch 0 was not delivered to http://127.0.0.1:1: ")
    assert "pass" not in said[0]
    assert "secret" not in said[0]
    for wrong in ("ftp://host/secret", "http://host:abc/secret"):
        with pytest.raises(BadInput, match="--webhook: the address must begin with http:// or https://") as refused:
            Webhook(wrong, tmp_path / "delivered", said.append)
        assert "secret" not in str(refused.value)


REDIRECT = ", a redirect, which is not followed"


@pytest.mark.parametrize(("status", "why"), [(404, ""), (301, REDIRECT), (307, REDIRECT)])
def test_a_refusal_and_a_redirect_are_not_tried_again(tmp_path: Path, status: int, why: str) -> None:
    """urllib would ask the other address without the alerts, and take its answer for theirs."""
    said: list[str] = []
    with receiver(status) as server:
        assert not Webhook(server.url, tmp_path / "delivered", said.append, pytest.fail).post(0, [{}])
    assert f"refused with {status}{why}" in said[0]


S = 1_000_000


def partition(key: str = "k") -> Condition:
    return Condition("partition", key, 5 * S, "n2 does not hear broker-b", {"ns": "n2"})


class Shown:
    """An Alertmanager behind a clock that the test moves, and the alerts that are open."""

    def __init__(self, url: str) -> None:
        self.seconds = 0.0
        self.said: list[str] = []
        self.manager = Alertmanager(url, self.said.append, lambda: self.seconds)
        self.open: list[Alert] = []

    def batch(self, cut_s: int, *conditions: Condition) -> bool:
        found = changes(self.open, conditions, {}, cut_s * S)
        self.open = found.open
        return self.manager.show(found.lines, found.open)


def test_an_alert_is_sent_when_it_opens_every_minute_and_when_it_closes() -> None:
    with receiver() as server:
        shown = Shown(server.url)
        assert shown.batch(10, partition())
        assert shown.batch(20, partition())
        shown.seconds = REPEAT_S
        assert shown.batch(30, partition())
        assert shown.batch(40)
    opened, repeated, closed = server.bodies
    assert opened == repeated
    assert opened[0]["startsAt"] == closed[0]["startsAt"] == "1970-01-01T00:00:05.000Z"
    assert opened[0]["labels"] == closed[0]["labels"]
    assert opened[0]["labels"]["alertname"] == "rocketns_partition"
    assert ("endsAt" in opened[0], closed[0]["endsAt"]) == (False, "1970-01-01T00:00:40.000Z")


def test_unsent_alerts_are_sent_with_the_next_batch() -> None:
    with receiver(503) as server:
        shown = Shown(server.url)
        assert not shown.batch(10, partition())
        assert shown.batch(20, partition())
    assert server.bodies[0] == server.bodies[1]
    assert shown.said[0].startswith("alertmanager: 1 alerts were not delivered to ")


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
        eventually(lambda: shown.batch(10, partition()))
        (alert,) = _alerts(url)
        assert (alert["labels"]["kind"], alert["annotations"]["summary"]) == ("partition", "n2 does not hear broker-b")
        assert alert["status"]["state"] == "active"
        assert shown.batch(20)
        eventually(lambda: _alerts(url) == [])
    finally:
        process.terminate()
        process.wait(60)


def _alerts(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/v2/alerts", timeout=5) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found

"""The file of alerts holds each alert once, and an address that does not answer never stops the stream."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage.alertlog import WAITS_S, AlertLog, Webhook


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_batches_are_appended_in_order(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "a" / "alerts.jsonl")
    log.write(0, [{"alert": "x"}, {"alert": "ü"}])
    log.write(1, [])
    log.write(2, [{"alert": "z"}])
    assert [(line["batch"], line["alert"]) for line in lines(log.path)] == [(0, "x"), (0, "ü"), (2, "z")]


def test_a_name_cannot_end_a_line_or_disturb_a_terminal(tmp_path: Path) -> None:
    name = "a\u2028b\u0085c\u009b31m\u202e\ud800"
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.write(0, [{"broker": name}])
    log.write(1, [{"broker": "next"}])
    assert log.path.read_bytes().isascii()
    assert [line["broker"] for line in lines(log.path)] == [name, "next"]


def test_a_replayed_batch_changes_nothing(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.write(0, [{"alert": "x"}])
    log.write(1, [{"alert": "y"}, {"alert": "z"}])
    before = log.path.read_bytes()
    log.write(1, [{"alert": "y"}, {"alert": "z"}])
    assert log.path.read_bytes() == before


def test_a_line_that_a_crash_tore_is_made_anew(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.write(0, [{"alert": "x"}])
    with log.path.open("ab") as file:
        file.write(b'{"alert": "y", "ba')
    log.write(1, [{"alert": "y"}])
    assert [line["alert"] for line in lines(log.path)] == ["x", "y"]


def test_a_file_whose_batches_all_come_again_begins_anew(tmp_path: Path) -> None:
    log = AlertLog(tmp_path / "alerts.jsonl")
    log.write(3, [{"alert": "x"}])
    log.write(0, [{"alert": "y"}])
    assert [line["alert"] for line in lines(log.path)] == ["y"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="alerts cannot be written to"):
        AlertLog(tmp_path / "file" / "alerts.jsonl")


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
    assert said == [
        f"webhook: 2 alerts of batch 7 were not delivered to {server.url.removesuffix('/hook')}: answered 500"
    ]


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b""])
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


def test_a_port_that_is_no_number_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--webhook: the address must begin with"):
        Webhook("http://host:abc/x", tmp_path / "delivered", pytest.fail)


def test_the_secret_of_an_address_is_not_said(tmp_path: Path) -> None:
    """An address of a chat's webhook is a secret as a whole but for its host."""
    said: list[str] = []
    url = "http://user:pass@127.0.0.1:1/services/T00/secret?token=secret"
    assert not Webhook(url, tmp_path / "delivered", said.append, lambda _: None).post(0, [{}])
    assert said[0].startswith("webhook: 1 alert of batch 0 was not delivered to http://127.0.0.1:1: ")
    assert "pass" not in said[0]
    assert "secret" not in said[0]
    with pytest.raises(BadInput) as refused:
        Webhook("ftp://host/secret", tmp_path / "delivered", said.append)
    assert "secret" not in str(refused.value)


def test_a_refusal_is_not_tried_again(tmp_path: Path) -> None:
    said: list[str] = []
    with receiver(404) as server:
        assert not Webhook(server.url, tmp_path / "delivered", said.append, pytest.fail).post(0, [{}])
    assert "refused with 404" in said[0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_address_that_moved_got_nothing(tmp_path: Path, status: int) -> None:
    """urllib would ask the other address without the alerts, and take its answer for theirs."""
    said: list[str] = []
    with receiver(status) as server:
        assert not Webhook(server.url, tmp_path / "delivered", said.append, pytest.fail).post(0, [{}])
    assert f"refused with {status}, a redirect, which is not followed" in said[0]


def test_an_answer_that_is_not_http_is_no_reason_to_stop(tmp_path: Path) -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_greet, args=[listening], daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        assert not Webhook(url, tmp_path / "delivered", said.append, lambda _: None).post(0, [{}])
    assert "BadStatusLine" in said[0]


def _greet(listening: socket.socket) -> None:
    """As a server of another protocol does."""
    for _ in range(len(WAITS_S) + 1):
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


def test_nobody_listening_is_no_reason_to_stop(tmp_path: Path) -> None:
    said: list[str] = []
    with receiver() as server:
        url = server.url
    assert not Webhook(url, tmp_path / "delivered", said.append, lambda _: None).post(0, [{}])
    assert "ConnectionRefusedError" in said[0] or "Connection refused" in said[0]


def test_an_address_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="http:// or https://"):
        Webhook("ftp://a", tmp_path / "delivered", pytest.fail)

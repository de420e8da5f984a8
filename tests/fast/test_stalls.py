"""While control has more frames waiting than it may, every connection still gets one to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.processor import dispatch
from rocketns.protocol.command import Reply
from rocketns.server import control
from tests.soak.live import LiveServer

ATTACKERS = 120
FLOOD = b"".join(frame(json_header(206, {}, opaque=n), bytes(16_000)) for n in range(300))
WAITING_AT_LEAST = control.WAITING_BYTES_MAX


def start(run: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def flood(client: Client) -> None:
    with suppress(OSError):  # closed in the end
        client.send(FLOOD)


def drain(client: Client) -> None:
    with suppress(OSError):
        while client.socket.recv(1 << 20):
            pass


class Counted:
    """Requests that control has processed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        original = dispatch.process

        def process(*arguments: Any) -> Reply:
            self.taken += 1
            return original(*arguments)

        monkeypatch.setattr(dispatch, "process", process)


def test_a_flood_does_not_keep_a_broker_from_registering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floods on older connections fill control's queue again and again; a registration gets in at once."""
    body = register_body([topic_config(f"T{n}") for n in range(100)])
    with LiveServer(tmp_path, reactors=2) as server, ExitStack() as stack:
        counted = Counted(monkeypatch)
        attackers = [stack.enter_context(server.connect()) for _ in range(ATTACKERS)]
        broker = stack.enter_context(server.connect())
        for client in [*attackers, broker]:
            client.request(206)
        with server.held_still():
            threads = [start(lambda c=client: flood(c)) for client in attackers]  # type: ignore[misc]
            lane = server.controller.lane.reactors
            assert lane is not None
            held = lane.reactors
            eventually(lambda: held.queued_bytes >= WAITING_AT_LEAST)
            eventually(lambda: held.incoming_bytes >= ATTACKERS * 10_000)
            held_before = held.queued_bytes + held.incoming_bytes
            broker.post(103, register_ext(body=body), body)
            eventually(lambda: held.queued_bytes + held.incoming_bytes >= held_before + len(body))
            before = counted.taken
        threads += [start(lambda c=client: drain(c)) for client in attackers]  # type: ignore[misc]
        assert broker.receive().code == 0
        waited_for = counted.taken - before
        print(f"answered after {waited_for} frames of others")
        assert waited_for <= 2 * ATTACKERS
        for client in attackers:
            client.socket.shutdown(2)
        for thread in threads:
            thread.join()

"""The core alone: it answers requests, and opens no descriptor and starts no thread."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from unittest.mock import Mock

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import frame, json_header
from rocketns.config import Configuration
from rocketns.server.clock import Clock
from rocketns.server.core import Core, Outside, State
from tests.support.writing import InlineWriter


class Peer:
    """A connection that keeps its answers."""

    address, host, is_announced, is_tls, since_epoch_ms = "10.9.9.9:1", "10.9.9.9", False, False, 0
    place = (host, host)
    is_full = has_ended = is_known = False
    is_open, in_flight = True, 0

    def __init__(self) -> None:
        self.answers: list[bytes] = []

    def note_known(self, is_known: bool) -> None:
        self.is_known = is_known

    def note_sender(self, language: str | None, version: int) -> None:
        self.language, self.version = language, version

    def begin_request(self) -> None:
        self.in_flight += 1

    def end_request(self) -> None:
        self.in_flight -= 1

    def write(self, answer: bytes) -> None:
        self.answers.append(answer)

    def close(self, why: str) -> None:
        raise AssertionError(why)

    def abort(self, *why: object) -> None:
        raise AssertionError(why)

    def flush(self) -> None:
        """Nothing is kept back."""


def held() -> set[str | threading.Thread]:
    """Descriptors and threads. Those that other tests left behind may end at any time."""
    return {path.name for path in Path("/proc/self/fd").iterdir()} | set(threading.enumerate())


def test_the_core_alone_answers_a_registration_and_a_lookup_without_socket_file_or_thread(tmp_path: Path) -> None:
    configuration, peer = Configuration.build(None, home=tmp_path), Peer()
    body = register_body([topic_config("Orders"), topic_config("Bills")], data_version(1))
    frames = [
        frame(json_header(codes.REGISTER_BROKER, ext=register_ext(body=body)), body),
        frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, ext={"topic": "Orders"})),
    ]

    async def main() -> None:
        before = held()
        state = State(configuration)
        core = Core(configuration, Clock(), state, Outside(Mock(), InlineWriter()))
        for one in frames:
            core.control.submit(peer, one)  # type: ignore[arg-type]
        for _ in range(10):  # turns follow each other on the loop
            await asyncio.sleep(0)
        assert held() <= before
        assert "Orders" in state.tables.topic_queue_table

    asyncio.run(main())
    registered, route = peer.answers
    assert b'"code":0' in registered
    assert b'"brokerDatas"' in route
    assert list(tmp_path.iterdir()) == []

"""What is kept of a request whose answer waits for another name server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.protocol.command import RemotingCommand
from rocketns.server.outgoing.product_environment import ProductEnvironment
from tests.support.inprocess import TimedServer


def test_a_lookup_that_waits_keeps_nothing_of_its_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a thousand lookups with bodies of 16 MB would hold 16 GB."""
    kept: list[Any] = []

    def ask(_: ProductEnvironment, command: RemotingCommand, __: object, answer: Callable[[None], None]) -> None:
        kept.extend([command, *(cell.cell_contents for cell in getattr(answer, "__closure__", ()))])
        answer(None)

    monkeypatch.setattr(ProductEnvironment, "ask", ask)
    server = TimedServer(tmp_path, {"clusterTest": "true"})
    try:
        with server.connect() as client:
            client.send(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), b"x" * 1_000_000))
            assert client.receive().code == codes.TOPIC_NOT_EXIST
    finally:
        server.stop()
    commands = [one for one in kept if isinstance(one, RemotingCommand)]
    assert len(commands) > 1
    assert all(one.data is None for one in commands)

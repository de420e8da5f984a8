"""Planted unexpected errors: each costs only the connection or the answer in which it occurs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.processor.requests import REQUESTS
from rocketns.protocol import command
from rocketns.protocol.command import RemotingCommand
from tests.support.inprocess import TimedServer

LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TimedServer]:
    """In this process, so that tests can plant errors."""
    started = TimedServer(tmp_path, {"rocketns.inFlightMax": 1})
    yield started
    started.stop()


def test_an_error_while_decoding_closes_the_connection(server: TimedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the frame was read in the middle of a turn, which then continues with the other connections."""
    decode = command.decode

    def break_on_opaque_two(data: bytes, *more: int) -> RemotingCommand:
        request = decode(data, *more)
        assert request.opaque != 2
        return request

    monkeypatch.setattr(command, "decode", break_on_opaque_two)
    with server.connect() as bad, server.connect() as good:
        bad.send(frame(json_header(LIST, opaque=1)) + frame(json_header(LIST, opaque=2)))
        for _ in range(20):
            assert good.request(LIST, opaque=5).code == codes.SUCCESS
        assert bad.receive().opaque == 1
        assert bad.is_closed_by_server()


def test_an_error_while_processing_is_answered(server: TimedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """B079: code 1 with a remark, the connection stays."""
    monkeypatch.setitem(REQUESTS, LIST, REQUESTS[LIST]._replace(process=lambda *_: 1 / 0))
    with server.connect() as client:
        for _ in range(2):
            answer = client.request(LIST)
            assert (answer.code, answer.ext, answer.body) == (codes.SYSTEM_ERROR, None, None)
            assert answer.remark == "ZeroDivisionError: division by zero"
        assert client.request(codes.GET_NAMESRV_CONFIG).code == codes.SUCCESS

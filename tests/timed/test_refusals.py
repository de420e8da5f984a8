"""Refused requests of one kind: the first has a line; one line a minute counts the others, also without a policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND

BODY = register_body([topic_config("T"), topic_config("U")])


def take_over(client: Client, number: int) -> None:
    """By an address that was no member of the group."""
    ext = register_ext(addr=f"10.0.0.{number}:10911", body=BODY)
    assert client.request(codes.REGISTER_BROKER, ext, BODY).code == 0


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if "would refuse request 103" in line]


def test_takeovers_are_counted_without_an_access_file(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server = timed_server()
    with server.connect() as client:
        for number in range(1, 5):
            take_over(client, number)
        server.advance(70 * SECOND)
        assert len(lines(caplog)) == 2
        server.advance(70 * SECOND)
        server.advance(70 * SECOND)
        take_over(client, 5)
    assert len(lines(caplog)) == 3  # the kind was forgotten


def test_what_was_not_told_yet_is_told_at_the_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    server = TimedServer(tmp_path)
    with server.connect() as client:
        for number in range(1, 5):
            take_over(client, number)
    server.stop()
    assert len(lines(caplog)) == 2

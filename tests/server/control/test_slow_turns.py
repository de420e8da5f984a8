"""Log lines about a slow turn of control, and about a slow job."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from interop.harness import codes
from rocketns.server import jobs
from rocketns.server.control import slowness
from rocketns.server.jobs import Jobs
from tests.support.inprocess import TimedServer


def test_a_slow_turn_names_the_request_that_took_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert slowness.LOG_INTERVAL_NS == 1_000_000_000
    monkeypatch.setattr(slowness, "LOG_INTERVAL_NS", 1 << 62)  # a busy machine may take a second for two requests
    monkeypatch.setattr(slowness, "SLOW_NS", 1)
    server = TimedServer(tmp_path)
    try:
        with caplog.at_level(logging.WARNING), server.connect() as client:
            client.request(codes.GET_BROKER_CLUSTER_INFO)
            client.request(codes.GET_BROKER_CLUSTER_INFO)
            server.call(lambda: None)
        host, count = client.host, server.controller.core.control.slow_turns.count
    finally:
        server.stop()
    lines = [record for record in caplog.records if record.getMessage().startswith("control was busy for")]
    assert count >= 2
    assert len(lines) == 1, "one line a second"
    assert f"code 106 of {host}:" in lines[0].getMessage()
    assert lines[0].__dict__["code"] == 106
    assert lines[0].__dict__["cost_ms"] <= lines[0].__dict__["turn_ms"]


def test_a_turn_that_is_not_slow_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    turns = slowness.SlowTurns()
    turns.end(slowness.SLOW_NS - 1, 0, 0)
    assert (turns.count, caplog.records) == (0, [])
    turns.end(slowness.SLOW_NS, 0, 0)
    assert turns.count == 1
    assert "none of them long" in caplog.text


def test_a_slow_job_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(jobs, "SLOW_S", -1.0)
    one = Jobs()
    one.add("the job", lambda: None, first_ms=0, every_ms=1)
    one.run_due(0)
    assert "the job the job kept control busy for" in caplog.text

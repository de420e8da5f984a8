"""The periodic jobs: when each runs, observed by its log lines."""

from __future__ import annotations

import itertools

import pytest

from tests.behaviour.calls import put_kv, switch
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, pass_time

SCAN_LINE = "start scanNotActiveBroker"
KV_LINE = "configTable SIZE: 1"
MINUTE = 60 * SECOND


def seconds_of(server: TimedServer, caplog: pytest.LogCaptureFixture, line: str, until_s: int) -> list[int]:
    """The seconds since the start in which the line is logged."""
    seconds = []
    for second in range(1, until_s + 1):
        caplog.clear()
        server.advance(SECOND)
        seconds += [second] * caplog.messages.count(line)
    return seconds


@pytest.fixture(autouse=True)
def log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


def test_the_scan_runs_after_five_seconds_and_then_every_five(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """B190: scanNotActiveBroker: first after 5 s, then every scanNotActiveBrokerInterval, by default 5 s."""
    assert seconds_of(timed_server(), caplog, SCAN_LINE, 26) == [5, 10, 15, 20, 25]


@pytest.mark.parametrize(("interval", "expected"), [(7_000, [5, 12, 19]), (1_000, [*range(5, 21)]), (20_000, [5])])
def test_the_interval_is_a_property(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture, interval: int, expected: list[int]
) -> None:
    """B190: the interval applies from the second scan on. The first scan runs after 5 s with any interval."""
    server = timed_server(scanNotActiveBrokerInterval=interval)
    assert seconds_of(server, caplog, SCAN_LINE, 20) == expected


def test_a_changed_interval_waits_for_the_next_start(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """B243: start-only properties: shown, no effect."""
    server = timed_server()
    with server.connect() as client:
        switch(client, "scanNotActiveBrokerInterval", 1_000)
        assert seconds_of(server, caplog, SCAN_LINE, 16) == [5, 10, 15]


def test_a_scan_that_was_late_is_not_made_up_for(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """After an hour in which the process was stopped there is one scan, not 720, once the waiting input is read. Then
    the interval applies again."""
    server = timed_server()
    server.advance(60 * MINUTE)
    assert caplog.messages.count(SCAN_LINE) == 0
    pass_time(server, 2 * SECOND, step_ms=SECOND // 2)
    assert caplog.messages.count(SCAN_LINE) == 1
    late = seconds_of(server, caplog, SCAN_LINE, 20)
    assert len(late) in (4, 5)
    assert {later - earlier for earlier, later in itertools.pairwise(late)} <= {4, 5}


def test_the_kv_table_is_printed_after_a_minute_and_then_every_ten(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """printAllPeriodically: first after 1 min, every 10 min; each item is a line."""
    server = timed_server(scanNotActiveBrokerInterval=3_600_000)
    with server.connect() as client:
        put_kv(client, "ns", "k", "v")
        assert seconds_of(server, caplog, KV_LINE, 22 * 60) == [60, 660, 1260]
        server.advance(10 * MINUTE)
        assert "configTable NS: ns Key: k Value: v" in caplog.messages


def test_a_job_that_fails_runs_again(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in a scan is logged; the next scan and the other jobs still run."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=12)
    monkeypatch.setattr("rocketns.routeinfo.liveness.expired_brokers", lambda *_: 1 / 0)
    with server.connect() as client:
        assert seconds_of(server, caplog, "job scanNotActiveBroker failed", 16) == [5, 10, 15]
        assert client.is_closed_by_server()

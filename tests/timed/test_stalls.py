"""After the server did not run for a while, deadlines move, and waiting input is read before anything expires."""

from __future__ import annotations

import pytest

from interop.harness.wire import Client
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.stall import Stall, StallWatch
from rocketns.server.tls.contexts import WATCH_INTERVAL_MS
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, registered
from tests.behaviour.views import group
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time

TIMEOUT = 20 * SECOND
STALL = 300 * SECOND
ROUND = SECOND // 2
LINE = "The name server did not run for up to 300000 ms. The deadlines of 1 brokers"


def settle(server: TimedServer) -> None:
    """Wait until brokers may expire again."""
    pass_time(server, 4 * ROUND, step_ms=ROUND)


def is_known(client: Client, names: Names) -> bool:
    return group(client, names.broker) is not None


def test_a_stall_expires_no_broker(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """Longer than the heartbeat time-out and the idle limit: both still have their remaining time afterwards."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, TIMEOUT // 2)
        server.advance(STALL)
        assert [LINE in one.getMessage() for one in caplog.records if one.name == "rocketns.stall"] == [True]
        pass_time(server, TIMEOUT // 2)
        assert is_known(client, names)
        assert is_open(broker)


def test_a_broker_that_died_in_a_stall_expires_later(timed_server: TimedServerFactory, names: Names) -> None:
    """Its deadline is moved once, by the length of the stall and not by more than a second beside it."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=0)
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, TIMEOUT // 2)
        server.advance(STALL)
        pass_time(server, TIMEOUT // 2 + 6 * SECOND)
        assert not is_known(client, names)
        assert broker.is_closed_by_server()


def test_a_heartbeat_after_a_stall_takes_the_grace_back(timed_server: TimedServerFactory, names: Names) -> None:
    """From then on the time-out counts as usual."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=0)
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        server.advance(STALL)
        settle(server)
        heartbeat(broker, names)
        pass_time(server, TIMEOUT - SECOND)
        assert is_known(client, names)
        pass_time(server, 7 * SECOND)
        assert not is_known(client, names)


def test_an_overdue_broker_is_heard_before_it_expires(timed_server: TimedServerFactory, names: Names) -> None:
    """It was overdue when the stall began. Its heartbeat waits in the socket when the stall ends."""
    server = timed_server(scanNotActiveBrokerInterval=60_000, serverChannelMaxIdleTimeSeconds=0)
    with server.connect() as broker, server.connect() as client:
        pass_time(server, 6 * SECOND)
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, TIMEOUT + SECOND)

        def stop_and_go_on() -> None:
            server.clock.advance(STALL)
            server.controller.run_due_jobs()

        server.call(stop_and_go_on)
        assert heartbeat(broker, names).code == 0
        settle(server)
        assert is_known(client, names)


def test_a_job_that_is_late_by_a_second_is_no_stall(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture
) -> None:
    server = timed_server()
    with server.connect() as client:
        assert is_open(client)
        server.advance(SECOND)
        assert not [one for one in caplog.records if one.name == "rocketns.stall"]
        server.advance(WATCH_INTERVAL_MS + SECOND + 1)
        assert [one for one in caplog.records if one.name == "rocketns.stall"]


def test_idle_connections_get_the_missed_time(timed_server: TimedServerFactory) -> None:
    """An idle limit of 120 s, of which 100 had passed: 20 are left after the stall, and 120 to who spoke since."""
    server = timed_server()
    with server.connect() as silent, server.connect() as speaking:
        assert is_open(silent)
        assert is_open(speaking)
        pass_time(server, 100 * SECOND)
        server.advance(STALL)
        assert is_open(speaking)
        pass_time(server, 18 * SECOND)
        assert not is_ended(silent)
        pass_time(server, 4 * SECOND)
        assert silent.is_closed_by_server()
        pass_time(server, 90 * SECOND)
        assert not is_ended(speaking)
        pass_time(server, 10 * SECOND)
        assert speaking.is_closed_by_server()


def test_a_second_is_the_bound_of_lateness() -> None:
    watch = StallWatch(0, RouteTables(), [])
    assert watch.check(1_500, 500) is None
    assert watch.check(3_001, 2_000) == Stall(3_001, 1_501)

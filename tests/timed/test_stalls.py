"""After a time in which the server did not run, deadlines move, and waiting input is read before anything expires."""

from __future__ import annotations

from typing import cast

import pytest

from interop.harness.wire import Client, eventually
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Jobs
from rocketns.server.publishing.delivery import EventDelivery
from rocketns.server.stall import Stall, StallWatch
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, registered
from tests.behaviour.views import group
from tests.support.ended import is_ended
from tests.support.inprocess import FakeClock, TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time

TIMEOUT = 20 * SECOND
STALL = 300 * SECOND
ROUND = SECOND // 2
LINE = "The name server did not run for up to 300000 ms. The deadlines of 1 brokers"


def settle(server: TimedServer) -> None:
    """Wait until brokers may expire again."""
    pass_time(server, 4 * ROUND, step_ms=ROUND)


def is_broker(client: Client, names: Names) -> bool:
    return group(client, names.broker) is not None


def test_a_stall_expires_no_broker(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """Longer than the heartbeat time-out and the idle limit: both still have their remaining time afterwards. A broker
    that died in it expires then: its deadline moves once."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, TIMEOUT // 2)
        server.advance(STALL)
        assert [LINE in one.getMessage() for one in caplog.records if one.name == "rocketns.stall"] == [True]
        pass_time(server, TIMEOUT // 2)
        assert is_broker(client, names)
        assert is_open(broker)
        pass_time(server, 6 * SECOND)
        assert not is_broker(client, names)
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
        assert is_broker(client, names)
        pass_time(server, 7 * SECOND)
        assert not is_broker(client, names)


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
        assert is_broker(client, names)


def test_idle_connections_get_the_missed_time(timed_server: TimedServerFactory) -> None:
    """An idle limit of 120 s, of which 100 had passed: 20 s are left after the stall, or 120 s after new bytes."""
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


def stop_unnoticed(server: TimedServer, ms: int) -> None:
    """The time passes, and no periodic job has run yet."""
    server.call(lambda: server.clock.advance(ms))


def test_a_connection_that_ends_in_a_stall_takes_no_broker_along(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker closed it because nobody answered. The end is read before any job notices the stall."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        stop_unnoticed(server, STALL)
        broker.close()
        eventually(lambda: LINE in caplog.text)
        settle(server)
        assert is_broker(client, names)
        pass_time(server, TIMEOUT - 10 * SECOND)
        assert is_broker(client, names)
        pass_time(server, 20 * SECOND)
        assert not is_broker(client, names), "it never came back"


def test_after_a_stall_the_end_of_a_connection_counts_again(timed_server: TimedServerFactory, names: Names) -> None:
    """Once all waiting input is read, or after ten seconds if it never is."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names)
        server.advance(STALL)
        pass_time(server, 15 * SECOND)
        broker.close()
        eventually(lambda: not is_broker(client, names))


def test_a_suspended_machine_expires_no_broker(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """The monotonic clock stood still, so the broker keeps its remaining time. Connections that ended prove nothing."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        server.call(lambda: server.clock.suspend(STALL))
        broker.close()
        eventually(lambda: f"The machine was suspended for {STALL} ms of it" in caplog.text)
        assert is_broker(client, names)
        pass_time(server, TIMEOUT - SECOND)
        assert is_broker(client, names)
        pass_time(server, 7 * SECOND)
        assert not is_broker(client, names)


@pytest.mark.parametrize("by_ms", [-(10**12), 3_600_000])
def test_the_wall_clock_decides_nothing(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture, by_ms: int
) -> None:
    """A broker expires after its time-out on the monotonic clock, wherever the wall clock is set meanwhile."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=0)
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, 5 * SECOND)
        server.call(lambda: server.clock.set_wall(by_ms))
        pass_time(server, 5 * SECOND)
        heartbeat(broker, names)
        server.call(lambda: server.clock.set_wall(by_ms // 2))
        pass_time(server, TIMEOUT - SECOND)
        assert is_broker(client, names)
        pass_time(server, 7 * SECOND)
        assert not is_broker(client, names)
    assert not [one for one in caplog.records if one.name == "rocketns.stall"]


class Watched:
    """A watch whose stalls are kept, over a clock that the test moves and a job that is due when it says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.jobs = Jobs()
        self.stalls: list[Stall] = []
        self.watch = StallWatch(self.clock, self.jobs, RouteTables(), cast(EventDelivery, None))
        self.watch.begin(self)
        self.jobs.add("job", lambda: None, first_ms=self.clock.now().ms + SECOND, every_ms=SECOND)

    def forgive(self, stall: Stall) -> int:
        self.stalls.append(stall)
        return 0

    def has_read_all(self) -> bool:
        return True

    def after(self, ms: int, suspended_ms: int = 0) -> list[Stall]:
        """The stalls that the watch finds after this time."""
        self.clock.advance(ms)
        self.clock.suspend(suspended_ms)
        self.stalls.clear()
        self.watch.check()
        self.jobs.run_due(self.clock.now().ms)
        return list(self.stalls)


def test_more_than_a_second_by_either_clock_is_one_stall() -> None:
    """It may be noticed first by the end of a connection, and then by the jobs, which have not run yet."""
    watched = Watched()
    assert [watched.after(2 * SECOND), watched.after(2 * SECOND)] == [[], []]
    assert watched.after(2 * SECOND + 1) == [Stall(watched.clock.now().ms, 2 * SECOND + 1)]
    assert watched.after(0) == []
    assert watched.after(1, suspended_ms=SECOND) == []
    assert watched.after(1, suspended_ms=SECOND + 1) == [Stall(watched.clock.now().ms, 0, SECOND + 1)]
    [stall] = watched.after(5 * SECOND, suspended_ms=7 * SECOND)
    assert stall.length_ms == stall.missed_ms + stall.suspended_ms == 12 * SECOND
    watched.stalls.clear()
    watched.clock.advance(STALL)
    watched.watch.check()
    watched.watch.check()
    assert len(watched.stalls) == 1

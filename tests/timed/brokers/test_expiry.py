"""Brokers that stop sending: when they are overdue, and what a scan does with them."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, register, registered
from tests.behaviour.views import addrs, group, members, perms, route
from tests.support.ended import is_ended
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time

DEFAULT_TIMEOUT = 120 * SECOND
INTERVAL = 5 * SECOND
NO_IDLE_LIMIT = {"serverChannelMaxIdleTimeSeconds": 0}


def is_known(client: Client, names: Names) -> bool:
    """Whether any request still shows the broker: group, cluster, its topic's route, or version query."""
    shown = {
        group(client, names.broker) is not None,
        members(client, names.cluster) is not None,
        route(client, names.topic("T")) is not None,
    }
    assert len(shown) == 1, shown
    return shown.pop()


@pytest.mark.parametrize("given", [None, "abc", "1e5", ""])
def test_the_timeout_is_two_minutes_if_not_told(
    timed_server: TimedServerFactory, names: Names, given: str | None
) -> None:
    """B166: heartbeatTimeoutMillis absent or bad: 120000. The scan at the very instant is too early by 1 ms."""
    server = timed_server(**NO_IDLE_LIMIT)
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=given)
        pass_time(server, DEFAULT_TIMEOUT)
        assert is_known(client, names)
        pass_time(server, INTERVAL - 1)
        assert is_known(client, names)
        server.advance(1)
        eventually(lambda: not is_known(client, names))


@pytest.mark.parametrize("timeout", [0, -1, -(2**63)])
def test_a_timeout_of_nothing_ends_at_the_next_scan(
    timed_server: TimedServerFactory, names: Names, timeout: int
) -> None:
    """B167: heartbeatTimeoutMillis 0: expires at next scan; so does one that lies before the registration."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=timeout)
        pass_time(server, INTERVAL - 1)
        assert is_known(client, names)
        server.advance(1)
        assert broker.is_closed_by_server()
        eventually(lambda: not is_known(client, names))


@pytest.mark.parametrize("timeout", [6_500, 5_000, 7_999, 10_000])
def test_an_overdue_broker_goes_at_a_scan(timed_server: TimedServerFactory, names: Names, timeout: int) -> None:
    """B190: no refresh for the timeout: connection closed by the server, broker removed, within one interval."""
    server = timed_server()
    overdue_at = next(at for at in range(INTERVAL, 10 * INTERVAL, INTERVAL) if at > timeout)
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=timeout)
        pass_time(server, overdue_at - 1)
        assert not is_ended(broker)
        assert is_known(client, names)
        server.advance(1)
        assert broker.is_closed_by_server()
        eventually(lambda: not is_known(client, names))
        assert query_version(client, names, data_version()).body is None
        assert is_open(client)


def test_only_the_overdue_broker_goes(timed_server: TimedServerFactory) -> None:
    """B190: each broker has its own timeout; another on a connection of its own stays."""
    server = timed_server()
    short, long = Names(), Names()
    with server.connect() as first, server.connect() as second, server.connect() as client:
        registered(first, short, heartbeatTimeoutMillis=4_000)
        registered(second, long, heartbeatTimeoutMillis=40_000)
        pass_time(server, INTERVAL)
        assert first.is_closed_by_server()
        eventually(lambda: not is_known(client, short))
        assert is_known(client, long)
        assert is_open(second)


def test_brokers_that_share_a_connection_all_lose_it(timed_server: TimedServerFactory) -> None:
    """B190: an overdue broker's connection closes, and with it the others on it, overdue or not (B188)."""
    server = timed_server()
    short, long = Names(), Names()
    with server.connect() as shared, server.connect() as client:
        registered(shared, short, heartbeatTimeoutMillis=4_000)
        registered(shared, long, heartbeatTimeoutMillis=40_000)
        pass_time(server, INTERVAL)
        assert shared.is_closed_by_server()
        eventually(lambda: not is_known(client, short))
        eventually(lambda: not is_known(client, long))


def test_an_overdue_master_takes_the_write_bit(timed_server: TimedServerFactory, names: Names) -> None:
    """B190: a group with an acting master whose master expires is treated like one whose master unregistered."""
    server = timed_server()
    with server.connect() as master, server.connect() as slave:
        registered(master, names, heartbeatTimeoutMillis=4_000, enableActingMaster="true")
        registered(slave, names, host=2, broker_id=1, enableActingMaster="true")
        pass_time(server, INTERVAL)
        eventually(lambda: addrs(slave, names.broker) == {"1": names.addr(2)})
        assert perms(slave, names.topic("T")) == {names.broker: 4}


def test_a_silent_broker_on_a_busy_connection_expires(timed_server: TimedServerFactory, names: Names) -> None:
    """B190: only the broker's own refreshes count, not other traffic."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=9_000)
        for _ in range(9):
            server.advance(SECOND)
            assert is_open(broker)
        server.advance(SECOND)
        assert broker.is_closed_by_server()
        eventually(lambda: not is_known(client, names))


def test_a_replaced_address_expires(timed_server: TimedServerFactory, names: Names) -> None:
    """B191: 322 still reports it until it is overdue. Java keeps it for ever."""
    server = timed_server()
    version = data_version(counter=7)
    with server.connect() as old, server.connect() as new, server.connect() as client:
        registered(old, names, version=version, heartbeatTimeoutMillis=4_000)
        registered(new, names, host=2, version=data_version(counter=8))
        assert addrs(client, names.broker) == {"0": names.addr(2)}
        answer = query_version(client, names, version)
        assert (answer.ext, answer.json()) == ({"changed": "false"}, version)
        pass_time(server, INTERVAL)
        assert old.is_closed_by_server()
        eventually(lambda: query_version(client, names, version).body is None)
        assert addrs(client, names.broker) == {"0": names.addr(2)}


def test_a_zombie_can_be_refreshed(timed_server: TimedServerFactory, names: Names) -> None:
    """B191: its entry is treated like any other, so heartbeats keep its connection."""
    server = timed_server()
    with server.connect() as old, server.connect() as new:
        registered(old, names, heartbeatTimeoutMillis=6_000)
        registered(new, names, host=2)
        for _ in range(4):
            assert heartbeat(old, names).code == 0
            pass_time(server, INTERVAL)
        assert is_open(old)
        pass_time(server, INTERVAL)
        assert old.is_closed_by_server()


def test_a_broker_that_full_tables_refuse_stays_in_the_routes(timed_server: TimedServerFactory, names: Names) -> None:
    """Whoever fills the tables must not remove a broker that creates a topic."""
    server = timed_server(**NO_IDLE_LIMIT, **{"rocketns.routesMax": 2})
    with server.connect() as broker, server.connect() as client:
        registered(broker, names)
        for _ in range(3):
            pass_time(server, DEFAULT_TIMEOUT - INTERVAL)
            assert register(broker, names, ("T", "U", "V")).code == codes.SYSTEM_ERROR
        assert is_known(client, names)
        assert route(client, names.topic("V")) is None
        pass_time(server, DEFAULT_TIMEOUT + INTERVAL)
        eventually(lambda: not is_known(client, names))

"""A start and what runs periodically: readiness, routes of another name server, the scan, lines of refusals."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, register, registered
from tests.behaviour.views import ask_route, cluster_info, group, route, topic_list
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, pass_time

SCAN_LINE = "start scanNotActiveBroker"


def seconds_of(server: TimedServer, caplog: pytest.LogCaptureFixture, line: str, until_s: int) -> list[int]:
    """The seconds since the start in which the line is logged."""
    seconds = []
    for second in range(1, until_s + 1):
        caplog.clear()
        server.advance(SECOND)
        seconds += [second] * caplog.messages.count(line)
    return seconds


@pytest.mark.parametrize(("interval", "expected"), [(5_000, [5, 10, 15, 20]), (7_000, [5, 12, 19])])
def test_the_interval_is_a_property(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture, interval: int, expected: list[int]
) -> None:
    """B190: the interval applies from the second scan on. The first scan runs after 5 s with any interval."""
    caplog.set_level("INFO")
    server = timed_server(scanNotActiveBrokerInterval=interval)
    assert seconds_of(server, caplog, SCAN_LINE, 20) == expected


def test_a_job_that_fails_runs_again(
    timed_server: TimedServerFactory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in a scan is logged; the next scan and the other jobs still run."""
    server = timed_server(serverChannelMaxIdleTimeSeconds=12)
    monkeypatch.setattr("rocketns.routeinfo.liveness.expired_brokers", lambda *_: 1 / 0)
    with server.connect() as client:
        assert seconds_of(server, caplog, "job scanNotActiveBroker failed", 16) == [5, 10, 15]
        assert client.is_closed_by_server()


def test_routes_are_refused_until_the_time_has_passed(timed_server: TimedServerFactory, names: Names) -> None:
    """B205, B206: 105 is refused for 45 s, to the millisecond. All other requests are answered from the start."""
    server = timed_server(needWaitForService="true")
    with server.connect() as client:
        registered(client, names)
        pass_time(server, 45 * SECOND - 1)
        answer = ask_route(client, names.topic("T"))
        assert (answer.code, answer.remark, answer.body) == (1, "name server not ready", None)
        assert names.broker in cluster_info(client)["brokerAddrTable"]
        server.advance(1)
        assert route(client, names.topic("T"))
        assert ask_route(client, "none").code == codes.TOPIC_NOT_EXIST


CONFIRM_S = 30


def everything(client: Client, names: Names) -> dict[str, object]:
    """All answers to lookups: the bytes of each route, the groups, the topics."""
    topics = sorted(topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    assert names.topic("T") in topics
    ext = {"acceptStandardJsonOnly": "true"}
    routes = {topic: client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic} | ext).body for topic in topics}
    return {"groups": cluster_info(client), "routes": routes}


def unconfirmed(server: TimedServer) -> int:
    return server.call(lambda: len(server.controller.core.context.tables.unconfirmed))


def started_from(timed_server: TimedServerFactory, seed: TimedServer, **more: object) -> TimedServer:
    """Its list of seeds also has a server that is down, and itself."""
    port = free_port()
    seeds = f"127.0.0.1:{port};127.0.0.1:1;127.0.0.1:{seed.port}"
    settings = {"listenPort": port, "rocketns.seedServers": seeds, "rocketns.confirmSeconds": CONFIRM_S}
    return timed_server(**settings | {"serverChannelMaxIdleTimeSeconds": 0} | more)


def test_it_answers_as_the_other_one(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """Masters, slaves, zones, static topics, filter servers and permissions. Only the dead one is left out."""
    caplog.set_level("INFO", "rocketns.seeding")
    seed = timed_server()
    with seed.connect() as broker, seed.connect() as slave:
        registered(broker, names, ["T", "U"], perm=4, zoneName="z", enableActingMaster="true", filters=["f:1"])
        registered(slave, names, ["T", "U"], host=2, broker_id=1, enableActingMaster="true")
        server = started_from(timed_server, seed)
        with seed.connect() as first, server.connect() as second:
            assert everything(first, names) == everything(second, names)
        assert unconfirmed(server) == 2
    told = [one.getMessage() for one in caplog.records if one.name == "rocketns.seeding"]
    assert [line.split(" of seedServers")[0] for line in told if "left out" in line] == ["the name server 127.0.0.1:1"]
    assert f"1 broker groups and 2 topics were read from the name server 127.0.0.1:{seed.port}" in caplog.text


def test_a_broker_that_is_heard_stays_and_a_silent_one_goes(timed_server: TimedServerFactory, names: Names) -> None:
    """One registers, one sends a heartbeat, one is silent."""
    seed, others = timed_server(), [Names(), Names()]
    with seed.connect() as at_seed:
        for one in (names, *others):
            registered(at_seed, one)
        server = started_from(timed_server, seed)
        assert unconfirmed(server) == 3
        with server.connect() as broker, server.connect() as client:
            assert register(broker, names).code == codes.SUCCESS
            assert heartbeat(broker, others[0]).code == codes.SUCCESS
            assert unconfirmed(server) == 1
            pass_time(server, (CONFIRM_S - 1) * SECOND)
            assert group(client, others[1].broker) is not None
            pass_time(server, 3 * SECOND)
            eventually(lambda: group(client, others[1].broker) is None)
            assert group(client, names.broker) is not None
            assert group(client, others[0].broker) is not None

"""What keeps a broker alive: registration, heartbeat and version query; nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.wire import Answer, Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, register, registered, unregister, unregister_ext
from tests.behaviour.views import ask_route, cluster_info, group, route
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time

TIMEOUT = 12 * SECOND
LAST_SAFE = 10 * SECOND  # the last scan at which an unrefreshed broker is not yet overdue
OVERDUE = 15 * SECOND
Step = Callable[[Client, Names], object]


def another_topic(client: Client, names: Names) -> object:
    return registered(client, names, ["V"], version=data_version(counter=2), heartbeatTimeoutMillis=TIMEOUT)


def oneway_query(client: Client, names: Names) -> object:
    """A heartbeat, as brokers with an acting master send it every second."""
    return client.post(codes.QUERY_DATA_VERSION, unregister_ext(names), flag=2)


def member_group(client: Client, names: Names) -> Answer:
    return client.request(codes.GET_BROKER_MEMBER_GROUP, {"brokerName": names.broker, "clusterName": names.cluster})


REFRESHES: dict[str, Step] = {
    "103": lambda client, names: registered(client, names, heartbeatTimeoutMillis=TIMEOUT),
    "103 of one topic": another_topic,
    "322": lambda client, names: query_version(client, names, data_version()),
    "322 of another version": lambda client, names: query_version(client, names, data_version(counter=9)),
    "322 without body": query_version,
    "322 with wrong name and id": lambda client, names: query_version(client, names, brokerName="x", brokerId="77"),
    "322 oneway": oneway_query,
    "904": heartbeat,
    "904 with wrong name": lambda client, names: heartbeat(client, names, brokerName="x"),
}
NO_REFRESHES: dict[str, Step] = {
    "105": lambda client, names: ask_route(client, names.topic("T")),
    "106": lambda client, _: cluster_info(client),
    "901": member_group,
    "322 of another address": lambda client, names: query_version(client, names, data_version(), host=2),
    "322 of another cluster": lambda client, names: query_version(client, names, clusterName="x"),
    "904 of another address": lambda client, names: heartbeat(client, names, host=2),
    "904 of another cluster": lambda client, names: heartbeat(client, names, clusterName="x"),
    "103 of another address": lambda client, names: register(client, names, host=2, broker_id=1),
    "205": lambda client, names: client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker}),
    "nothing": lambda _client, _names: None,
}


@pytest.mark.parametrize("refresh", REFRESHES)
def test_keeps_a_broker_alive(timed_server: TimedServerFactory, names: Names, refresh: str) -> None:
    """B173, B174: 103, 322 repeated and 904 of a known address refresh, each time it comes."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        for _ in range(3):
            pass_time(server, LAST_SAFE)
            REFRESHES[refresh](broker, names)
            assert is_open(broker)
        pass_time(server, LAST_SAFE)
        assert group(client, names.broker) is not None
        assert route(client, names.topic("T"))
        pass_time(server, OVERDUE - LAST_SAFE)
        eventually(lambda: group(client, names.broker) is None)


@pytest.mark.parametrize("other", NO_REFRESHES)
def test_does_not_keep_a_broker_alive(timed_server: TimedServerFactory, names: Names, other: str) -> None:
    """B174, B176: a heartbeat of an unknown address or a wrong cluster is answered and refreshes nothing."""
    server = timed_server()
    with server.connect() as broker:
        registered(broker, names, heartbeatTimeoutMillis=TIMEOUT)
        pass_time(server, LAST_SAFE)
        NO_REFRESHES[other](broker, names)
        assert is_open(broker)
        pass_time(server, OVERDUE - LAST_SAFE)
        assert broker.is_closed_by_server()
        with server.connect() as client:
            eventually(lambda: names.addr() not in addresses_of(client, names))


def addresses_of(client: Client, names: Names) -> list[str]:
    data = group(client, names.broker)
    return [] if data is None else list(data["brokerAddrs"].values())


def test_a_heartbeat_does_not_resurrect(timed_server: TimedServerFactory, names: Names) -> None:
    """B177: 904 and 322 after unregistration: the broker stays away, now and after the next scans."""
    server = timed_server()
    with server.connect() as broker:
        registered(broker, names)
        assert unregister(broker, names).code == 0
        eventually(lambda: group(broker, names.broker) is None)
        for _ in range(3):
            assert heartbeat(broker, names).code == 0
            assert query_version(broker, names, data_version()).ext == {"changed": "true"}
            pass_time(server, 5 * SECOND)
            assert group(broker, names.broker) is None
            assert route(broker, names.topic("T")) is None


def test_a_heartbeat_does_not_resurrect_an_expired_broker(timed_server: TimedServerFactory, names: Names) -> None:
    """B177: nor does a broker that a scan removed; only a registration brings it back."""
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=0)
        pass_time(server, 5 * SECOND)
        assert broker.is_closed_by_server()
        eventually(lambda: group(client, names.broker) is None)
        assert heartbeat(client, names).code == 0
        assert group(client, names.broker) is None
        registered(client, names)
        assert route(client, names.topic("T"))

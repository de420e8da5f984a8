"""What a request of 150 bytes may cost where a broker has 100,000 topics: CPU time beside that of a heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import psutil

from interop.harness import codes
from interop.harness.payloads import compressed_body, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, register_with

TOPICS = 100_000
ASKED = 300
# A walk through all topics took 20 times as long as a heartbeat.
TIMES_MAX = 10


@cache
def all_topics() -> bytes:
    return compressed_body([topic_config(f"T{number}") for number in range(TOPICS)])


def fill(client: Client, names: Names) -> None:
    assert register_with(client, names, all_topics(), compressed="true").code == codes.SUCCESS


def cpu_s(server: NameServer, ask: Callable[[], object]) -> float:
    """Of ASKED requests."""
    process = psutil.Process(server.pid)
    before = sum(process.cpu_times()[:2])
    for _ in range(ASKED):
        ask()
    return sum(process.cpu_times()[:2]) - before


def test_a_broker_without_topics_costs_no_walk_through_those_of_others(server: NameServer) -> None:
    """205 and 327 for an unknown name, a registration without topics and its end."""
    large, small = Names(), Names()
    with server.connect() as client:
        fill(client, large)
        usual = cpu_s(server, lambda: heartbeat(client, large))
        for code in (codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER):
            fields = {"brokerName": small.broker}
            assert cpu_s(server, lambda code=code, fields=fields: client.request(code, fields)) < bound(usual)  # type: ignore[misc]


def bound(usual_s: float) -> float:
    """The kernel counts CPU time in ticks of 10 ms."""
    return TIMES_MAX * usual_s + 0.1


def test_all_topics_of_a_broker_are_counted_and_changed(server: NameServer) -> None:
    """Also after many of them left and came back."""
    names = Names()
    with server.connect() as client:
        fill(client, names)
        for number in range(0, 600, 2):
            gone = {"topic": f"T{number}"}
            assert client.request(codes.DELETE_TOPIC_IN_NAMESRV, gone).code == codes.SUCCESS
        wiped = client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        assert (wiped.ext or {})["wipeTopicCount"] == str(TOPICS - 300)
        fill(client, names)
        added = client.request(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        assert (added.ext or {})["addTopicCount"] == str(TOPICS)

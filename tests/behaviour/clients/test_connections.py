"""Clients that connect for one request, probes side by side, and a table of topics kept as KV items."""

from __future__ import annotations

from contextlib import ExitStack

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import get_kv, put_kv
from tests.behaviour.clients.conftest import Found, ask
from tests.behaviour.clients.test_route_readers import LUA
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import loads

SHORT_CONNECTIONS = 300
PROBES = 32


def test_connections_for_one_lookup_each_are_answered(server: NameServer, client: Client, found: Found) -> None:
    """lua-resty-rocketmq keeps a connection for ten seconds at most, and without a pool for one request."""
    first = ask(client, LUA.format(topic=found.topic))
    for _ in range(SHORT_CONNECTIONS):
        with server.connect() as short:
            assert ask(short, LUA.format(topic=found.topic)) == first


def test_probes_side_by_side_get_the_same_answer(own_server: NameServer, names: Names) -> None:
    """RocketMQ Studio asks 106 of each name server at once, from a client for each."""
    with ExitStack() as stack:
        probes = [stack.enter_context(own_server.connect()) for _ in range(PROBES)]
        registered(probes[0], names)
        for probe in probes:
            probe.post(codes.GET_BROKER_CLUSTER_INFO)
        bodies = {probe.receive().body for probe in probes}
    (only,) = bodies
    assert list(loads(only)["brokerAddrTable"]) == [names.broker]


def test_topics_of_mqtt_are_read_back_as_they_were_put(own_server: NameServer) -> None:
    """rocketmq-mqtt's MetaPersistManagerSample: the namespace LMQ, whose values are lists with commas."""
    with own_server.connect() as client:
        put_kv(client, "LMQ", "ALL_FIRST_TOPICS", "a,b")
        put_kv(client, "LMQ", "a", "a/+/c,a/#")
        assert get_kv(client, "LMQ", "ALL_FIRST_TOPICS").ext == {"value": "a,b"}
        assert get_kv(client, "LMQ", "a").ext == {"value": "a/+/c,a/#"}


def test_a_first_topic_without_wildcards_is_code_22(own_server: NameServer) -> None:
    """It goes on after QUERY_NOT_FOUND and after nothing else."""
    with own_server.connect() as client:
        answer = get_kv(client, "LMQ", "LMQ_CONNECT_NODES")
    assert (answer.code, answer.remark) == (22, "No config item, Namespace: LMQ Key: LMQ_CONNECT_NODES")

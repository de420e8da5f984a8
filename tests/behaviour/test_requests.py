"""Requests whose answers depend on more than Java's: order, queues, files, and the product of a cluster test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from rocketns.shadow.frames import split
from tests.behaviour.calls import both_encodings, put_kv, route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import loads, route

Start = Callable[..., NameServer]
REGISTER_OPAQUE, LOOKUP_OPAQUE = 71, 72
# Its buffer is as large as the larger of the socket's two buffers.
READ_BYTES = 256 * 1024
LOOKUPS = 200
TEST_MODE: dict[str, object] = {"clusterTest": "true"}


def request(code: int, ext: dict[str, str], body: bytes, opaque: int, binary: bool) -> bytes:
    if binary:
        return frame(binary_header(code, ext, opaque=opaque), body, ROCKETMQ)
    return frame(json_header(code, ext, opaque=opaque), body)


@both_encodings
@pytest.mark.parametrize("topics", [1, 3_000], ids=["small", "large"])
def test_a_lookup_behind_a_registration_finds_its_topics(
    server: NameServer, names: Names, binary: bool, topics: int
) -> None:
    """B041: both arrive in one piece. The lookup must not overtake the earlier request of its own peer."""
    configs = [topic_config(names.topic(f"New{n}")) for n in range(topics)]
    body = register_body(configs)
    ext = register_ext(names.cluster, names.broker, names.addr(), 0, body)
    with server.connect() as client:
        registered(client, names)
        client.send(
            request(codes.REGISTER_BROKER, ext, body, REGISTER_OPAQUE, binary)
            + request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic("New0")}, b"", LOOKUP_OPAQUE, binary)
        )
        first, second = client.receive(), client.receive()
    assert (first.opaque, first.code) == (REGISTER_OPAQUE, codes.SUCCESS)
    assert (second.opaque, second.code) == (LOOKUP_OPAQUE, codes.SUCCESS), second.remark
    assert loads(second.body)["queueDatas"][0]["brokerName"] == names.broker


def mapping(names: Names, topic: str, *, bname: str | None = None, epoch: int = 7) -> dict[str, Any]:
    """TopicQueueMappingInfo of one topic under its name, with every field."""
    return {
        "bname": bname or names.broker,
        "currIdMap": {"0": 0, "1": 1},
        "dirty": False,
        "epoch": epoch,
        "scope": "__global__",
        "topic": topic,
        "totalQueues": 8,
    }


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """The product environment's name server, of either kind."""
    with RocketnsServer(tmp_path_factory.mktemp("product"), {"orderMessageEnable": "true"}) as started:
        yield started


@pytest.fixture
def tested(start_server: Start, product: NameServer) -> Iterator[Client]:
    """A connection to a server in test mode."""
    addr = f"-Drocketmq.namesrv.addr=127.0.0.1:{product.port}"
    with start_server(TEST_MODE, options=[addr]).connect() as connection:
        yield connection


@pytest.fixture
def broker(product: NameServer) -> Iterator[Client]:
    """A broker's connection to the product environment."""
    with product.connect() as connection:
        yield connection


def test_every_code_is_a_lookup(tested: Client, broker: Client, names: Names) -> None:
    """B248: of a topic in the product, in both encodings; registrations have no effect."""
    registered(broker, names)
    for code in (codes.GET_ROUTEINFO_BY_TOPIC, codes.REGISTER_BROKER, codes.UPDATE_NAMESRV_CONFIG, 9999, -1):
        for binary in (False, True):
            answer = tested.request(code, {"topic": names.topic()}, binary=binary)
            assert (answer.code, answer.remark, answer.ext) == (codes.SUCCESS, None, None)
            assert [data["brokerName"] for data in loads(answer.body)["brokerDatas"]] == [names.broker]
        unknown = tested.request(code, {"topic": "none"})
        assert (unknown.code, unknown.body) == (codes.TOPIC_NOT_EXIST, None)


def test_everything_that_the_product_knows_is_shown(tested: Client, broker: Client, names: Names) -> None:
    """B248: order configuration, filter servers, static topics, zones and the acting master's flag, byte for byte, with
    unquoted keys for every client."""
    one = mapping(names, names.topic())
    registered(broker, names, filters=["10.9.9.9:1"], __ZONE_NAME="Z", enableActingMaster="true",
               mapping={names.topic(): one})  # fmt: skip
    registered(broker, names, host=2, brokerName=names.broker + "-b", __ZONE_NAME="Z2")
    put_kv(broker, "ORDER_TOPIC_CONFIG", names.topic(), f"{names.broker}:8")
    body = route_body(broker, names.topic(), version=0)
    assert f'"orderTopicConf":"{names.broker}:8"'.encode() in body
    assert b"topicQueueMappingByBroker" in body
    for version in (0, 400, 401, 513):
        assert route_body(tested, names.topic(), version=version, acceptStandardJsonOnly="true") == body
    zone = {"__ZONE_MODE": "true", "__ZONE_NAME": "Z2"}
    assert [one["brokerName"] for one in route(tested, names.topic(), **zone)["brokerDatas"]] == [names.broker + "-b"]


@pytest.mark.parametrize("property_too", [False, True], ids=["environment", "environment and property"])
def test_the_environment_names_the_product_unless_a_property_does(
    start_server: Start, product: NameServer, names: Names, property_too: bool
) -> None:
    """B248: NAMESRV_ADDR, unless the system property is set."""
    addr, nobody = f"127.0.0.1:{product.port}", "127.0.0.1:1"
    options = [f"-Drocketmq.namesrv.addr={addr}"] if property_too else []
    server = start_server(TEST_MODE, env={"NAMESRV_ADDR": nobody if property_too else addr}, options=options)
    with server.connect() as client, product.connect() as broker:
        registered(broker, names)
        assert route(client, names.topic()) is not None


@pytest.mark.parametrize("brokers", [1, 100])
def test_header_and_body_come_in_one_read(server: NameServer, names: Names, brokers: int) -> None:
    """B199: EMQX's rocketmq_client parses each read; a header without its body counts as no topic."""
    with server.connect() as client:
        for number in range(brokers):
            registered(client, names, brokerName=f"{names.broker}-{number}")
        asked = frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic()}, version=401))
        for _ in range(LOOKUPS):
            client.send(asked)
            _, header, body = split(client.socket.recv(READ_BYTES))
            assert json.loads(header)["code"] == 0
            assert len(json.loads(body)["brokerDatas"]) == brokers

"""clusterTest: a name server without tables of its own, which looks routes up in the product environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client
from tests.behaviour.calls import both_encodings, put_kv, route_body
from tests.behaviour.conftest import Names, running
from tests.behaviour.steps import register, registered
from tests.behaviour.views import ask_route, loads, route

Start = Callable[..., NameServer]
TEST_MODE: dict[str, object] = {"clusterTest": "true"}
SEE = "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
# Requests that register, store, list or set something in other modes, and one of an unknown code.
CODES = [
    codes.REGISTER_BROKER,
    codes.PUT_KV_CONFIG,
    codes.GET_BROKER_CLUSTER_INFO,
    codes.UPDATE_NAMESRV_CONFIG,
    9999,
    -1,
]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """The product environment's name server, of either kind."""
    with running(RocketnsServer(tmp_path_factory.mktemp("product"), {"orderMessageEnable": "true"})) as started:
        yield started


@pytest.fixture(scope="module")
def server(
    server_class: type[NameServer], product: NameServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NameServer]:
    """One server in test mode for the tests of this file."""
    addr = f"-Drocketmq.namesrv.addr=127.0.0.1:{product.port}"
    with running(server_class(tmp_path_factory.mktemp("test-mode"), TEST_MODE, options=[addr])) as started:
        yield started


@pytest.fixture
def broker(product: NameServer) -> Iterator[Client]:
    """A broker's connection to the product environment."""
    with product.connect() as connection:
        yield connection


def assert_not_found(answer: Any, topic: str | None) -> None:
    assert (answer.code, answer.body) == (codes.TOPIC_NOT_EXIST, None)
    assert answer.remark == f"No topic route info in name server for the topic: {topic or 'null'}\n{SEE}"
    assert answer.ext is None


@pytest.mark.parametrize("code", [codes.GET_ROUTEINFO_BY_TOPIC, *CODES])
@both_encodings
def test_every_code_is_a_lookup(client: Client, broker: Client, names: Names, code: int, binary: bool) -> None:
    """B248: for known and unknown topics."""
    registered(broker, names)
    answer = client.request(code, {"topic": names.topic()}, binary=binary)
    assert (answer.code, answer.remark, answer.ext) == (codes.SUCCESS, None, None)
    assert [data["brokerName"] for data in loads(answer.body)["brokerDatas"]] == [names.broker]


@pytest.mark.parametrize("code", [codes.GET_ROUTEINFO_BY_TOPIC, *CODES])
def test_an_unknown_topic(client: Client, names: Names, code: int) -> None:
    """B248: every code is answered as not found, and so is a request without a topic."""
    assert_not_found(client.request(code, {"topic": names.topic()}), names.topic())
    assert_not_found(client.request(code), None)


def test_registrations_have_no_effect(client: Client, names: Names) -> None:
    """B248: a registration names no topic."""
    assert_not_found(register(client, names), None)
    assert_not_found(ask_route(client, names.topic()), names.topic())


@pytest.mark.parametrize("version", [0, 400, 401, 513])
@pytest.mark.parametrize("standard", ["true", "false"])
def test_the_body_has_unquoted_keys(client: Client, broker: Client, names: Names, version: int, standard: str) -> None:
    """B248: for every client, also those that read the standard dialect."""
    registered(broker, names)
    registered(broker, names, host=2, broker_id=1)
    body = route_body(client, names.topic(), version=version, acceptStandardJsonOnly=standard)
    assert f'"brokerAddrs":{{0:"{names.addr(1)}",1:"{names.addr(2)}"}}'.encode() in body
    assert body == route_body(broker, names.topic(), version=0)


def test_everything_that_the_product_knows_is_shown(client: Client, broker: Client, names: Names) -> None:
    """B248: order configuration, filter servers, static topics, zones and the acting master's flag, byte for byte."""
    registered(broker, names, filters=["10.9.9.9:1"], __ZONE_NAME="Z", enableActingMaster="true", mapping={
        names.topic(): {"bname": names.broker, "currIdMap": {"0": 0}, "epoch": 1, "scope": "__global__",
                        "topic": names.topic(), "totalQueues": 1},
    })  # fmt: skip
    put_kv(broker, "ORDER_TOPIC_CONFIG", names.topic(), f"{names.broker}:8")
    body = route_body(client, names.topic())
    assert f'"orderTopicConf":"{names.broker}:8"'.encode() in body
    assert b"topicQueueMappingByBroker" in body
    assert body == route_body(broker, names.topic(), version=0)


def test_zones(client: Client, broker: Client, names: Names) -> None:
    """B248: requests for one zone are filtered here."""
    registered(broker, names, __ZONE_NAME="Z1")
    registered(broker, names, host=2, brokerName=names.broker + "-b", __ZONE_NAME="Z2")
    zone = {"__ZONE_MODE": "true", "__ZONE_NAME": "Z2"}
    assert [data["brokerName"] for data in route(client, names.topic(), **zone)["brokerDatas"]] == [names.broker + "-b"]


def test_lookups_at_the_same_time(client: Client, broker: Client, names: Names) -> None:
    """B248: each client gets its own answer."""
    topics = [f"T{number}" for number in range(20)]
    registered(broker, names, topics)
    asked = {client.post(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic(topic)}): topic for topic in topics}
    answered = [client.receive() for _ in asked]
    assert {answer.opaque for answer in answered} == set(asked)
    assert {answer.code for answer in answered} == {codes.SUCCESS}


def test_no_product_environment(start_server: Start, names: Names) -> None:
    """B248: every topic is answered as not found."""
    server = start_server(TEST_MODE, options=["-Drocketmq.namesrv.addr="])
    with server.connect() as client:
        client.socket.settimeout(60)
        assert_not_found(ask_route(client, names.topic()), names.topic())


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


def test_a_name_server_of_the_product_that_is_not_there(start_server: Start, product: NameServer, names: Names) -> None:
    """B248: the next address is asked."""
    server = start_server(TEST_MODE, options=[f"-Drocketmq.namesrv.addr=127.0.0.1:1;127.0.0.1:{product.port}"])
    if server.kind == "java":
        pytest.skip("Java's client tries one address at random and finds nothing if no server listens there")
    with server.connect() as client, product.connect() as broker:
        registered(broker, names)
        assert route(client, names.topic()) is not None

"""Requests whose answers depend on more than Java's: order, queues, files, and the product of a cluster test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from rocketns.shadow.comparing.frames import split
from tests.behaviour.calls import both_encodings, put_kv, route_body
from tests.behaviour.conftest import Names, running
from tests.behaviour.steps import TWO_TOPICS, configs, register_with, registered, settle, unregister_ext
from tests.behaviour.views import loads, perms, route

Start = Callable[..., NameServer]
REGISTER_OPAQUE, LOOKUP_OPAQUE = 71, 72
NOW_MS = 1_795_254_380_051
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


def test_full_queue_is_refused_without_remark(start_server: Start, names: Names) -> None:
    """B184: code 1 without remark. One whole segment is read before the worker runs."""
    number = 64
    requests = [frame(json_header(codes.UNREGISTER_BROKER, unregister_ext(names), opaque=i)) for i in range(number)]
    with start_server({"unRegisterBrokerQueueCapacity": 1}).connect() as client:
        client.send(b"".join(requests))
        answers = [client.receive() for _ in range(number)]
        settle(client)
    assert sorted(a.opaque for a in answers) == list(range(number))
    assert {(a.code, a.remark, a.ext, a.body) for a in answers} <= {(0, None, None, None), (1, None, None, None)}
    assert {a.code for a in answers} == {0, 1}


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


def shown(client: Client, topic: str) -> Any:
    return route(client, topic).get("topicQueueMappingByBroker")


def test_a_broker_with_50000_topics_may_have_static_ones(client: Client, names: Names) -> None:
    """B162: each topic counts as some 20 JSON values. The limit of 500,000 is for JSON that brokers do not write."""
    topics = [*configs(names, TWO_TOPICS), *(topic_config(f"{names.topic('T')}-{n}") for n in range(50_000))]
    one = mapping(names, names.topic("T"))
    body = register_body(topics, mapping={names.topic("T"): one})
    assert register_with(client, names, body.replace(b'{"0":0,"1":1}', b"{0:0,1:1}")).code == 0
    assert shown(client, names.topic("T")) == {names.broker: one}
    assert perms(client, f"{names.topic('T')}-49999") == {names.broker: 6}


def put(client: Client, value: str) -> None:
    assert client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": value}).code == 0


def delete(client: Client, namespace: str = "ns") -> None:
    assert client.request(codes.DELETE_KV_CONFIG, {"namespace": namespace, "key": "k"}).code == 0


ONE = b'{"configTable":{"ns":{"k":"v"}}}'


def test_file_is_compact_json_with_a_copy_of_the_content_before(start_server: Start, tmp_path: Path) -> None:
    """B105: KV file format. Missing parent folders are created. Each change keeps the previous content as .bak."""
    path = tmp_path / "not" / "yet" / "kv.json"
    copy = path.with_name("kv.json.bak")
    with start_server({"kvConfigPath": path}).connect() as client:
        put(client, "v")
        assert path.read_bytes() == ONE
        assert not copy.exists()
        put(client, "ü</>")
        assert path.read_bytes() == '{"configTable":{"ns":{"k":"ü</>"}}}'.encode()
        assert copy.read_bytes() == ONE
        delete(client)
        assert path.read_bytes() == b'{"configTable":{"ns":{}}}'
        assert copy.read_bytes() == '{"configTable":{"ns":{"k":"ü</>"}}}'.encode()


def body(stamp: int, counter: int) -> bytes:
    wrapper = {
        "dataVersion": data_version(counter),
        "mappingDataVersion": data_version(0, stamp),
        "topicConfigTable": {"T": topic_config("T"), "U": topic_config("U")},
    }
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})


def test_registrations_that_differ_in_their_time_alone_are_counted_as_repeated(
    server_class: type[NameServer], names: Names, tmp_path: Path
) -> None:
    """B147: a 5.x broker writes the current time into each registration."""
    server = server_class(tmp_path)
    with server.connect() as client:
        for period, counter in enumerate((1, 1, 1, 2, 2)):
            assert register_with(client, names, body(NOW_MS + 30_000 * period, counter)).code == 0
    assert server.stop() == 0
    assert "registrations: 5, 3 of them repeated the broker's last body" in server.process.text()


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """The product environment's name server, of either kind."""
    with running(RocketnsServer(tmp_path_factory.mktemp("product"), {"orderMessageEnable": "true"})) as started:
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


def test_lookups_at_the_same_time(tested: Client, broker: Client, names: Names) -> None:
    """B248: each client gets its own answer."""
    topics = [f"T{number}" for number in range(20)]
    registered(broker, names, topics)
    asked = {tested.post(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic(topic)}): topic for topic in topics}
    answered = [tested.receive() for _ in asked]
    assert {answer.opaque for answer in answered} == set(asked)
    assert {answer.code for answer in answered} == {codes.SUCCESS}


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
            header, body, _ = split(client.socket.recv(READ_BYTES))
            assert json.loads(header)["code"] == 0
            assert len(json.loads(body)["brokerDatas"]) == brokers

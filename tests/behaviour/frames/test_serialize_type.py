"""The ROCKETMQ serialize type: a server that answers every request with a binary header."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop.harness import codes
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import JSON, ROCKETMQ, Answer, Client, binary_header
from tests.behaviour.calls import both_encodings, get_kv, put_kv
from tests.behaviour.conftest import Names, running
from tests.behaviour.steps import query_version, register, registered
from tests.behaviour.views import ask_route, cluster_info

Start = Callable[..., NameServer]
PROPERTY = "-Drocketmq.serialize.type="
ENVIRONMENT = "ROCKETMQ_SERIALIZE_TYPE"
RESPONSE = 1


@pytest.fixture(scope="module")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One server of that type for the tests of this file."""
    with running(server_class(tmp_path_factory.mktemp("binary"), options=[f"{PROPERTY}ROCKETMQ"])) as started:
        yield started


def assert_binary(answer: Answer, code: int, remark: str | None = None, ext: dict[str, str] | None = None) -> None:
    """The header is byte for byte the one expected, flagged as binary."""
    assert answer.serialize_type == ROCKETMQ
    expected = binary_header(
        code, ext, opaque=answer.opaque, version=513, flag=RESPONSE, language=0, remark=(remark or "").encode()
    )
    assert answer.header_bytes == expected


@both_encodings
def test_every_answer_is_binary(client: Client, binary: bool) -> None:
    """B033: a JSON request gets a binary answer. The body remains JSON."""
    answer = client.request(codes.GET_BROKER_CLUSTER_INFO, binary=binary)
    assert_binary(answer, codes.SUCCESS)
    assert cluster_info(client).keys() == {"brokerAddrTable", "clusterAddrTable"}


def test_response_headers(client: Client, names: Names) -> None:
    """B033: fields in the order in which Java writes them."""
    assert_binary(register(client, names, haServerAddr="ha"), codes.SUCCESS)
    slave = register(client, names, host=2, broker_id=1)
    assert_binary(slave, codes.SUCCESS, ext={"haServerAddr": "ha", "masterAddr": names.addr(1)})
    put_kv(client, names.cluster, "k", "ü" * 40_000)
    assert_binary(get_kv(client, names.cluster, "k"), codes.SUCCESS, ext={"value": "ü" * 40_000})
    wiped = client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
    assert_binary(wiped, codes.SUCCESS, ext={"wipeTopicCount": "2"})
    assert_binary(query_version(client, names), codes.SUCCESS, ext={"changed": "true"})


def test_errors(client: Client, names: Names) -> None:
    """B033: the same remark as in JSON. A header without fields has no ext area."""
    missing = f"No config item, Namespace: {names.cluster} Key: k"
    assert_binary(get_kv(client, names.cluster, "k"), codes.QUERY_NOT_FOUND, missing)
    assert_binary(client.request(9999), codes.REQUEST_CODE_NOT_SUPPORTED, " request type 9999 not supported")
    not_found = ask_route(client, "тема")
    assert_binary(not_found, codes.TOPIC_NOT_EXIST, not_found.remark)
    assert "тема" in (not_found.remark or "")


def test_an_empty_value(client: Client, names: Names) -> None:
    """B033: an empty value differs from an absent one."""
    put_kv(client, names.cluster, "empty", "")
    assert_binary(get_kv(client, names.cluster, "empty"), codes.SUCCESS, ext={"value": ""})


def test_a_route(client: Client, names: Names) -> None:
    """B033: lookups too."""
    registered(client, names)
    assert_binary(ask_route(client, names.topic()), codes.SUCCESS)


@pytest.mark.parametrize(
    ("options", "env", "expected"),
    [
        ([], {ENVIRONMENT: "ROCKETMQ"}, ROCKETMQ),
        ([f"{PROPERTY}JSON"], {ENVIRONMENT: "ROCKETMQ"}, JSON),
        ([f"{PROPERTY} "], {ENVIRONMENT: "ROCKETMQ"}, JSON),
    ],
    ids=["the environment", "the property wins", "a blank property is JSON"],
)
def test_the_property_wins_over_the_environment(
    start_server: Start, options: list[str], env: dict[str, str], expected: int
) -> None:
    """B034: the boot line shows the type."""
    server = start_server(options=options, env=env)
    name = "ROCKETMQ" if expected == ROCKETMQ else "JSON"
    assert f"boot success. serializeType={name}, address" in server.process.text()
    with server.connect() as client:
        assert client.request(codes.GET_BROKER_CLUSTER_INFO).serialize_type == expected


def test_an_unknown_type_stops_the_start(start_server: Start) -> None:
    """B034: the name is compared with case and without trimming."""
    with pytest.raises(ProcessFailed) as failed:
        start_server(options=[f"{PROPERTY}rocketmq"])
    assert failed.value.status == 255

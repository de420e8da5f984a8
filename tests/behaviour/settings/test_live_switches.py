"""Settings changed by UPDATE_NAMESRV_CONFIG: some take effect at the next request, others after a restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame, json_header
from tests.behaviour.calls import put_kv, settings, switch, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, loads, route

ORDER = "ORDER_TOPIC_CONFIG"
TOPIC_LISTS = (
    codes.GET_TOPICS_BY_CLUSTER,
    codes.GET_UNIT_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
)


@pytest.fixture(scope="module")
def switched_server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """A server whose settings the tests of this module change and restore."""
    started = server_class(tmp_path_factory.mktemp("switched"))
    yield started
    started.stop()


@pytest.fixture
def connection(switched_server: NameServer) -> Iterator[Client]:
    with switched_server.connect() as client:
        yield client


def results(client: Client, requests: tuple[int, ...]) -> set[tuple[int, str | None]]:
    """Code and remark of the answer to each request. The requests name no cluster."""
    return {(answer.code, answer.remark) for answer in (client.request(code) for code in requests)}


@pytest.mark.parametrize(
    ("name", "requests"),
    [("enableAllTopicList", (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,)), ("enableTopicList", TOPIC_LISTS)],
)
def test_topic_lists_can_be_disabled(connection: Client, name: str, requests: tuple[int, ...]) -> None:
    """B242: enableAllTopicList, enableTopicList."""
    assert results(connection, requests) == {(codes.SUCCESS, None)}
    switch(connection, name, "false")
    assert results(connection, requests) == {(codes.SYSTEM_ERROR, "disable")}
    switch(connection, name, "true")
    assert results(connection, requests) == {(codes.SUCCESS, None)}


def test_order_configuration_in_routes(connection: Client, names: Names) -> None:
    """B242: orderMessageEnable."""
    registered(connection, names)
    put_kv(connection, ORDER, names.topic(), f"{names.broker}:4")
    assert "orderTopicConf" not in route(connection, names.topic())
    switch(connection, "orderMessageEnable", "true")
    assert route(connection, names.topic())["orderTopicConf"] == f"{names.broker}:4"
    switch(connection, "orderMessageEnable", "false")
    assert "orderTopicConf" not in route(connection, names.topic())


def test_order_configuration_for_brokers(connection: Client, names: Names) -> None:
    """B242: returnOrderTopicConfigToBroker."""
    put_kv(connection, ORDER, names.topic(), f"{names.broker}:4")
    assert loads(registered(connection, names).body)["table"][names.topic()] == f"{names.broker}:4"
    switch(connection, "returnOrderTopicConfigToBroker", "false")
    assert registered(connection, names).body is None
    switch(connection, "returnOrderTopicConfigToBroker", "true")
    assert registered(connection, names).body is not None


def test_acting_masters_in_routes(connection: Client, names: Names) -> None:
    """B242: supportActingMaster."""
    registered(connection, names, broker_id=1, enableActingMaster="true")

    def ids() -> list[str]:
        return list(route(connection, names.topic())["brokerDatas"][0]["brokerAddrs"])

    assert ids() == ["1"]
    switch(connection, "supportActingMaster", "true")
    assert ids() == ["0"]
    switch(connection, "supportActingMaster", "false")
    assert ids() == ["1"]


def test_waiting_for_service(connection: Client, names: Names) -> None:
    """B242: needWaitForService and waitSecondsForService, counted from the start of the process."""
    registered(connection, names)
    update_settings(connection, "waitSecondsForService=3600\nneedWaitForService=true\n")
    answer = ask_route(connection, names.topic())
    assert (answer.code, answer.remark, answer.ext) == (codes.SYSTEM_ERROR, "name server not ready", None)
    assert results(connection, (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,)) == {(codes.SUCCESS, None)}
    switch(connection, "waitSecondsForService", 0)
    assert ask_route(connection, names.topic()).code == codes.SUCCESS
    update_settings(connection, "waitSecondsForService=3600\nneedWaitForService=false\n")
    assert ask_route(connection, names.topic()).code == codes.SUCCESS


def test_topics_missing_from_a_registration(connection: Client, names: Names) -> None:
    """B242: deleteTopicWithBrokerRegistration."""
    registered(connection, names, ("T", "U", "V"))
    registered(connection, names, ("T", "U"), version=data_version(2))
    assert route(connection, names.topic("V")) is not None
    switch(connection, "deleteTopicWithBrokerRegistration", "true")
    registered(connection, names, ("T", "U"), version=data_version(3))
    assert route(connection, names.topic("V")) is None
    switch(connection, "deleteTopicWithBrokerRegistration", "false")
    registered(connection, names, ("T",), version=data_version(4))
    assert route(connection, names.topic("U")) is not None


START_ONLY = {
    "bindAddress": "127.0.0.9",
    "clientRequestThreadPoolNums": "1",
    "clientRequestThreadPoolQueueCapacity": "1",
    "clusterTest": "true",
    "defaultThreadPoolNums": "1",
    "defaultThreadPoolQueueCapacity": "1",
    "enableControllerInNamesrv": "true",
    "listenPort": "1",
    "productEnvName": "elsewhere",
    "scanNotActiveBrokerInterval": "86400000",
    "serverSelectorThreads": "1",
    "serverSocketBacklog": "1",
    "serverWorkerThreads": "1",
    "unRegisterBrokerQueueCapacity": "1",
    "useEpollNativeSelector": "true",
    "writeBufferHighWaterMark": "1",
}
# Only the operator may write these properties, or these values, into the file; see docs/differences.md.
UNWRITTEN = {
    "bindAddress", "clusterTest", "enableControllerInNamesrv", "listenPort", "scanNotActiveBrokerInterval",
    "writeBufferHighWaterMark",
}  # fmt: skip


def test_start_only_properties_are_shown_without_effect(switched_server: NameServer, connection: Client) -> None:
    """B243: the cluster-test mode, queue size and address do not change."""
    before = settings(connection)
    text = "".join(f"{key}={value}\n" for key, value in START_ONLY.items())
    assert update_settings(connection, text).code == codes.SUCCESS
    assert settings(connection) == before | START_ONLY
    written = switched_server.config_path.read_text().splitlines()
    unwritten = set() if switched_server.kind == "java" else UNWRITTEN
    for key, value in START_ONLY.items():
        assert f"{key}={before[key] if key in unwritten else value}" in written
    with switched_server.connect() as newcomer:
        flood = [json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, opaque=n) for n in range(300)]
        newcomer.send(b"".join(map(frame, flood)))
        answers = [newcomer.receive() for _ in flood]
    assert {answer.code for answer in answers} == {codes.SUCCESS}
    assert all("topicList" in answer.json() for answer in answers)

"""Settings changed by UPDATE_NAMESRV_CONFIG: some take effect at the next request, others after a restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame, json_header
from tests.behaviour.calls import settings, switch, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import route


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

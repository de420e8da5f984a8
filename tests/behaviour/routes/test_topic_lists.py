"""The topic lists: all, by cluster, system, and by unit flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered
from tests.behaviour.views import topic_list

UNIT_LISTS = (
    codes.GET_UNIT_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
)


@pytest.fixture(scope="module")
def closed(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A connection to a server that gives no topic lists."""
    switches = {"enableAllTopicList": "false", "enableTopicList": "false"}
    server = server_class(tmp_path_factory.mktemp("closed"), switches)
    with server.connect() as connection:
        yield connection
    server.stop()


def own(names: Names, topics: list[str]) -> list[str]:
    """The topics of a list that belong to this test, by their short names."""
    return sorted(t.removesuffix(f"-{names.number}") for t in topics if t.endswith(f"-{names.number}"))


def test_all_topics_are_listed(client: Client, names: Names) -> None:
    """B221: 206 on: system and retry topics too, each once."""
    topics = ["%RETRY%g", "T", "TBW102"]
    registered(client, names, topics)
    registered(client, names, topics, host=2, brokerName=names.broker + "-b")
    assert own(names, topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) == topics


def test_list_body(start_server: Callable[..., NameServer], names: Names) -> None:
    """B221: 206's body: no brokerAddr; empty at first."""
    with start_server().connect() as client:
        answer = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, b'{"topicList":[]}')
        registered(client, names)
        client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": names.topic("U")})
        body = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body
        assert body == f'{{"topicList":["{names.topic("T")}"]}}'.encode()


def test_topics_of_a_cluster(client: Client, names: Names) -> None:
    """B230: 224 known cluster: topics of any of its brokers."""
    second = names.cluster + "-2"
    registered(client, names, ["T", "U"])
    registered(client, names, ["T", "V", "W"], host=2, brokerName=names.broker + "-b")
    registered(client, names, ["U", "X"], host=3, brokerName=names.broker + "-c", clusterName=second)
    first = topic_list(client, codes.GET_TOPICS_BY_CLUSTER, cluster=names.cluster)
    assert own(names, first) == ["T", "U", "V", "W"]
    assert own(names, topic_list(client, codes.GET_TOPICS_BY_CLUSTER, cluster=second)) == ["U", "X"]


@pytest.mark.parametrize("ext", [{"cluster": "unknown"}, {"cluster": ""}, {}, None])
def test_topics_of_an_unknown_cluster(client: Client, ext: dict[str, str] | None) -> None:
    """B230: 224 unknown cluster: code 0, empty list."""
    answer = client.request(codes.GET_TOPICS_BY_CLUSTER, ext)
    assert (answer.code, answer.remark, answer.body) == (0, None, b'{"topicList":[]}')


def test_the_two_switches_are_apart(start_server: Callable[..., NameServer]) -> None:
    """B221, B231: each property switches its own lists."""
    with start_server({"enableTopicList": "false"}).connect() as client:
        assert topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == []
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"enableTopicList=true\n").code == 0
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"enableAllTopicList=false\n").code == 0
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).remark == "disable"
        for code in (codes.GET_TOPICS_BY_CLUSTER, *UNIT_LISTS):
            assert topic_list(client, code) == []


def test_system_topics_are_clusters_and_brokers(closed: Client, names: Names) -> None:
    """B232: 304: brokerAddr if any; never gated."""
    empty = closed.request(codes.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    assert (empty.code, empty.remark, empty.body) == (0, None, b'{"topicList":[]}')
    registered(closed, names)
    answer = closed.request(codes.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    assert list(answer.json()) == ["brokerAddr", "topicList"]
    assert answer.json()["brokerAddr"] == names.addr()
    assert sorted(answer.json()["topicList"]) == sorted([names.cluster, names.broker])


def test_system_topics_without_any_address(start_server: Callable[..., NameServer], names: Names) -> None:
    """B232: without a group there is no brokerAddr. A refused registration leaves none, unlike in Java."""
    with start_server().connect() as client:
        assert register(client, names, ["T"]).code == 1
        assert client.request(codes.GET_SYSTEM_TOPIC_LIST_FROM_NS).json() == {"topicList": []}


SYS_FLAGS = {"none": 0, "unit": 1, "sub": 2, "unit+sub": 3, "other": 4}
LISTED = {
    codes.GET_UNIT_TOPIC_LIST: ["unit", "unit+sub"],
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST: ["sub", "unit+sub"],
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: ["sub"],
}


@pytest.mark.parametrize("code", LISTED)
def test_unit_lists_go_by_the_flags(client: Client, names: Names, code: int) -> None:
    """B233: 311 / 312 / 313 by sys flag bits."""
    registered(client, names, [topic_config(names.topic(name), flag=flag) for name, flag in SYS_FLAGS.items()])
    assert own(names, topic_list(client, code)) == LISTED[code]

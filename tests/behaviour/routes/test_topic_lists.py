"""The topic lists: all, by cluster, system, and by unit flags."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.servers import NameServer
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register
from tests.behaviour.views import topic_list

UNIT_LISTS = (
    codes.GET_UNIT_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
)


def test_the_two_switches_are_apart(start_server: Callable[..., NameServer]) -> None:
    """B221, B231: each property switches its own lists."""
    with start_server({"enableTopicList": "false"}).connect() as client:
        assert topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == []
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"enableTopicList=true\n").code == 0
        assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, b"enableAllTopicList=false\n").code == 0
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).remark == "disable"
        for code in (codes.GET_TOPICS_BY_CLUSTER, *UNIT_LISTS):
            assert topic_list(client, code) == []


def test_system_topics_without_any_address(start_server: Callable[..., NameServer], names: Names) -> None:
    """B232: without a group there is no brokerAddr. A refused registration leaves none, unlike in Java."""
    with start_server().connect() as client:
        assert register(client, names, ["T"]).code == 1
        assert client.request(codes.GET_SYSTEM_TOPIC_LIST_FROM_NS).json() == {"topicList": []}

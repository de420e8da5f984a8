"""What `rocketns diff` counts as a difference."""

from __future__ import annotations

import asyncio
from copy import deepcopy

import pytest

from interop.harness import codes
from rocketns.client.name_server import NameServer
from rocketns.fleet.comparing import FactKind, Item
from rocketns.tools import diff as diff_module
from rocketns.tools import reading
from rocketns.tools.diff import Comparison, cells, compared, detailed
from tests.tools.scripted import Scripted, with_servers

SAME = Scripted({"a": "10.0.0.1:1", "b": "10.0.0.2:1"}, {"T": {"a": {}, "b": {}}, "U": {"b": {}}}, {"T": "a:4"})


def changed(**parts: object) -> Scripted:
    other = Scripted(*deepcopy((SAME.brokers, SAME.topics, SAME.order)))
    for name, value in parts.items():
        setattr(other, name, value)
    return other


def outcome(first: Scripted, second: Scripted, settle_s: float = 0) -> Comparison:
    found: list[Comparison] = []

    async def test(servers: list[NameServer]) -> None:
        found.append(await compared(servers, settle_s))

    with_servers([first, second], test)
    return found[0]


def test_the_order_of_lists_is_no_difference() -> None:
    other = changed(brokers=dict(reversed(SAME.brokers.items())), topics={"U": {"b": {}}, "T": {"b": {}, "a": {}}})
    assert outcome(SAME, other).lasting == []


@pytest.mark.parametrize(
    ("other", "item"),
    [
        (changed(brokers={"a": "10.0.0.1:1"}), Item(FactKind.BROKER, "b")),
        (changed(brokers={"a": "10.0.0.1:1", "b": "10.0.0.9:1"}), Item(FactKind.BROKER, "b")),
        (changed(topics={"T": {"a": {}, "b": {}}}), Item(FactKind.TOPIC, "U")),
        (changed(topics={"T": {"a": {}}, "U": {"b": {}}}), Item(FactKind.TOPIC, "T")),
        (changed(topics={"T": {"a": {}, "b": {"perm": 4}}, "U": {"b": {}}}), Item(FactKind.TOPIC, "T")),
        (changed(order={"T": "a:8"}), Item(FactKind.ORDER, "T")),
        (changed(order={}), Item(FactKind.ORDER, "T")),
    ],
    ids=["broker missing", "other address", "topic missing", "broker of a topic", "permission", "order", "no order"],
)
def test_a_difference_is_named(other: Scripted, item: Item) -> None:
    assert outcome(SAME, other).lasting == [item]
    assert outcome(other, SAME).lasting == [item]


def test_a_difference_that_disappears_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker registers at the second name server a little later than at the first."""
    monkeypatch.setattr(diff_module, "LOOK_EVERY_S", 0.01)
    late = changed(brokers={"a": "10.0.0.1:1"}, topics={"T": {"a": {}}})
    requests: list[int] = []

    def register(code: int) -> None:
        requests.append(code)
        if requests.count(codes.GET_BROKER_CLUSTER_INFO) == 4:
            late.brokers, late.topics = SAME.brokers, SAME.topics

    late.at_request = register
    found = outcome(SAME, late, settle_s=30)
    assert found.lasting == []
    assert found.settled == [Item(FactKind.BROKER, "b"), Item(FactKind.TOPIC, "T"), Item(FactKind.TOPIC, "U")]


def test_a_lasting_difference_is_reported_even_if_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_module, "LOOK_EVERY_S", 0.01)
    other = changed(topics={"T": {"a": {}, "b": {"perm": 4}}, "U": {"b": {}}})
    other.at_request = lambda _code: other.topics["T"]["b"].update(perm=len(other.looked_up) % 4)
    assert outcome(SAME, other, settle_s=0.1).lasting == [Item(FactKind.TOPIC, "T")]


def test_only_what_differs_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_module, "LOOK_EVERY_S", 0.01)
    other = changed(topics={"T": {"a": {}}, "U": {"b": {}}})
    asked: list[int] = []
    other.at_request = asked.append
    outcome(SAME, other, settle_s=0.1)
    assert asked.count(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == asked.count(codes.GET_BROKER_CLUSTER_INFO) == 1
    assert other.looked_up.count("U") == 1 < other.looked_up.count("T")


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (codes.GET_BROKER_CLUSTER_INFO, b"<html>"),
        (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 1),
        (codes.GET_ROUTEINFO_BY_TOPIC, b"[]"),
        (codes.GET_ROUTEINFO_BY_TOPIC, b'{"queueDatas":[1]}'),
        (codes.GET_ROUTEINFO_BY_TOPIC, 1),
        (codes.GET_KVLIST_BY_NAMESPACE, b"1"),
    ],
)
def test_a_name_server_that_cannot_be_read_is_named(code: int, answer: bytes | int) -> None:
    other = changed(wrong={code: answer})
    with pytest.raises(ExceptionGroup) as raised:
        outcome(SAME, other)
    (error,) = raised.value.exceptions
    assert "cannot be read: it" in str(error)


def test_more_topics_than_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "TOPICS_MAX", 1)
    with pytest.raises(ExceptionGroup):
        outcome(SAME, SAME)


def test_the_pace_is_kept() -> None:
    """20 lookups a second: the third one waits for a tenth of a second."""

    async def test(servers: list[NameServer]) -> None:
        began = asyncio.get_running_loop().time()
        await compared(servers, 0, per_second=20)
        assert asyncio.get_running_loop().time() - began >= 0.1

    three = changed(topics={"T": {"a": {}}, "U": {"b": {}}, "V": {"b": {}}})
    with_servers([three, three], test)


def test_only_the_differing_brokers_of_a_topic_are_shown() -> None:
    other = changed(topics={"T": {"a": {}, "b": {"perm": 4}}})
    shown: list[list[str]] = []

    async def test(servers: list[NameServer]) -> None:
        found = await compared(servers, 0)
        addrs = [server.addr for server in servers]
        shown.extend(cells(one, addrs) for one in await detailed(servers, found.latest, found.lasting))

    with_servers([SAME, other], test)
    assert shown == [["b r8 w8 perm 6", "b r8 w8 perm 4"], ["present", "missing"]]

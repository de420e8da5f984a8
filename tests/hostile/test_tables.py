"""rocketns.routesMax, brokerRoutesMax and brokersMax: whatever strangers register, the tables stay within them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from rocketns.processor import admin
from rocketns.protocol.body import bodies
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.protocol.command import Reply
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, register_with, registered
from tests.behaviour.views import ask_route, cluster_info, topic_list
from tests.processor.asking import World
from tests.support.inprocess import TimedServer
from tests.support.starting import stopped_after

Serve = Callable[..., TimedServer]
FORMS: dict[str, Callable[..., bytes]] = {"plain": register_body, "compressed": compressed_body}


@pytest.fixture
def serve(tmp_path: Path, request: pytest.FixtureRequest) -> Serve:
    """A server in this process, with one reactor: ``serve({"rocketns.routesMax": 10})``. Control has the tables."""
    return stopped_after(request, lambda given=None: TimedServer(tmp_path, {"rocketns.reactors": 1} | (given or {})))


def topics_of(names: Names, count: int, prefix: str = "T") -> list[dict[str, Any]]:
    return [topic_config(names.topic(f"{prefix}{number}")) for number in range(count)]


def is_full(answer: Answer, limit: str, what: str = "") -> bool:
    """Refused by the limit, which the remark names, for what there would be too many of."""
    refused = (answer.code, answer.ext) == (codes.SYSTEM_ERROR, None)
    return refused and f"{what}, more than {limit};" in (answer.remark or "")


def listed(client: Client) -> tuple[Any, set[str]]:
    """All brokers and clusters, and all topics."""
    return cluster_info(client), set(topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))


def next_version() -> dict[str, int]:
    return data_version(counter=77)


@pytest.mark.parametrize("form", FORMS)
def test_a_registration_beyond_the_tables_is_refused_whole(serve: Serve, form: str) -> None:
    server = serve({"rocketns.routesMax": 10})
    first, second = Names(), Names()
    with server.connect() as client:
        registered(client, first, topics_of(first, 8))
        before = listed(client)
        for _ in range(2):
            body = FORMS[form](topics_of(second, 3))
            assert is_full(register_with(client, second, body, compressed=str(form == "compressed").lower()),
                           "rocketns.routesMax=10")  # fmt: skip
        assert listed(client) == before
        registered(client, second, topics_of(second, 2))
        assert is_full(register(client, Names(), ["T", "U"]), "rocketns.routesMax=10")


def test_a_broker_without_new_topics_is_accepted_by_full_tables(serve: Serve) -> None:
    """Again, with another version, with other queues, from a new address and as a slave."""
    server = serve({"rocketns.routesMax": 4, "rocketns.brokerRoutesMax": 4})
    names = Names()
    with server.connect() as client:
        registered(client, names, topics_of(names, 4))
        registered(client, names, topics_of(names, 4))
        others = [topic | {"readQueueNums": 3} for topic in topics_of(names, 4)]
        registered(client, names, others, version=next_version())
        route = ask_route(client, names.topic("T3")).json()
        assert [queues["readQueueNums"] for queues in route["queueDatas"]] == [3]
        registered(client, names, topics_of(names, 4), host=2, broker_id=1)
        registered(client, names, topics_of(names, 2), host=3)


def test_the_topics_of_one_broker_name(serve: Serve) -> None:
    """In one registration, or one after another, also from several addresses."""
    server = serve({"rocketns.brokerRoutesMax": 4})
    names, other = Names(), Names()
    with server.connect() as client:
        assert is_full(register(client, names, topics_of(names, 5)), "rocketns.brokerRoutesMax=4")
        registered(client, names, topics_of(names, 3))
        registered(client, names, topics_of(names, 1, "U"), version=next_version())
        assert is_full(register(client, names, topics_of(names, 1, "V")), "rocketns.brokerRoutesMax=4")
        assert is_full(register(client, names, topics_of(names, 2, "V"), host=2), "rocketns.brokerRoutesMax=4")
        registered(client, other, topics_of(other, 4))


def test_a_removed_entry_makes_room(serve: Serve) -> None:
    server = serve({"rocketns.routesMax": 3, "rocketns.brokerRoutesMax": 3})
    names = Names()
    with server.connect() as client:
        for number in range(200):  # each replaces one topic of three
            registered(client, names, [topic_config(names.topic(f"T{number + place}")) for place in range(3)],
                       version=data_version(counter=number))  # fmt: skip
            gone = {"topic": names.topic(f"T{number}")}
            assert client.request(codes.DELETE_TOPIC_IN_NAMESRV, gone).code == codes.SUCCESS
        assert is_full(register(client, names, ["A", "B"]), "rocketns.brokerRoutesMax=3")


def test_a_long_name_counts_as_several(serve: Serve) -> None:
    server = serve({"rocketns.routesMax": 10})
    with server.connect() as client:
        for length, full in ((256 * 9, True), (256 * 8, False)):
            answer = register(client, Names(), [topic_config("x" * length), topic_config("y" * 255)])
            assert is_full(answer, "rocketns.routesMax=10") == full


def test_filter_servers_and_static_topics_count(serve: Serve) -> None:
    """Ten routes: four topics, a mapping of each, and two filter servers. A mapping of 64 queues is nine."""
    server = serve({"rocketns.routesMax": 10})
    names = Names()
    topics = topics_of(names, 4)
    named = [topic["topicName"] for topic in topics]
    mapping = {topic: {"topic": topic, "bname": names.broker, "currIdMap": {}} for topic in named}
    ids = {named[0]: mapping[named[0]] | {"currIdMap": {str(number): 1 for number in range(64)}}}
    with server.connect() as client:
        for refused in ({"mapping": mapping, "filters": ["f"] * 3}, {"filters": ["f"] * 7}, {"mapping": ids}):
            assert is_full(register(client, names, topics, **refused), "rocketns.routesMax=10")
        registered(client, names, topics, mapping=mapping, filters=["f"] * 2)
        registered(client, names, topics, mapping=mapping, filters=["g"] * 2)
        assert is_full(register(client, names, topics, filters=["f"] * 3), "rocketns.routesMax=10")


def test_a_topic_that_a_tool_registers_in_full_tables(serve: Serve) -> None:
    server = serve({"rocketns.routesMax": 2})
    names = Names()
    with server.connect() as client:
        registered(client, names)
        body = dumps({"queueDatas": [{"brokerName": names.broker, "perm": 6}]})
        for topic, full in ((names.topic("A"), True), (names.topic("T"), False)):
            answer = client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body)
            assert is_full(answer, "rocketns.routesMax=2") == full


def test_broker_names_and_addresses(serve: Serve) -> None:
    server = serve({"rocketns.brokersMax": 3})
    with server.connect() as client:
        kept = [Names() for _ in range(3)]
        for names in kept:
            registered(client, names)
        before = listed(client)
        for asked in ({"host": 2, "broker_id": 1}, {"clusterName": "another"}):
            answer = register(client, kept[0], **asked)
            assert is_full(answer, "rocketns.brokersMax=3", "4 live brokers")
        assert is_full(register(client, Names()), "rocketns.brokersMax=3")
        assert listed(client) == before
        for names in kept:
            registered(client, names, version=next_version())


def test_names_of_one_address(serve: Serve) -> None:
    """Without any topic."""
    names = Names()
    with serve({"rocketns.brokersMax": 3}).connect() as client:
        for number in range(4):
            answer = register(client, names, [], brokerName=f"{names.broker}-{number}")
            assert is_full(answer, "rocketns.brokersMax=3", "4 broker names") == (number == 3)


def test_ids_of_one_broker_name(serve: Serve) -> None:
    server = serve()
    names = Names()
    with server.connect() as client:
        for number in range(BROKER_IDS_MAX):
            registered(client, names, host=number, broker_id=number)
        beyond = register(client, names, host=BROKER_IDS_MAX, broker_id=BROKER_IDS_MAX)
        assert is_full(beyond, f"BROKER_IDS_MAX={BROKER_IDS_MAX}")
        registered(client, names, host=7, broker_id=7)


def test_refusals_fill_no_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """One line a second, which names the limit."""
    with serve({"rocketns.routesMax": 1}).connect() as client:
        for _ in range(20):
            assert is_full(register(client, Names()), "rocketns.routesMax=1")
    (line,) = [line for line in caplog.messages if "the route tables are full" in line]
    assert "rocketns.routesMax=1" in line


MOST = 3
NAMES = "the list has more names than TOPICS_LISTED_MAX=3"
QUEUES = "topics with a unit flag have more queues than UNIT_QUEUES_READ_MAX=3"
# The fields of the request, the flag of the topics, and the remark.
LISTS: dict[int, tuple[dict[str, str], int, str]] = {
    codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: ({}, 0, NAMES),
    codes.GET_TOPICS_BY_CLUSTER: ({"cluster": "C1"}, 0, NAMES),
    codes.GET_UNIT_TOPIC_LIST: ({}, 1, QUEUES),
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST: ({}, 2, QUEUES),
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: ({}, 2, QUEUES),
}


@pytest.mark.parametrize("code", LISTS)
def test_a_list_of_too_many_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """It is refused before it is encoded."""
    monkeypatch.setattr(admin, "TOPICS_LISTED_MAX", MOST)
    monkeypatch.setattr(admin, "UNIT_QUEUES_READ_MAX", MOST)
    (fields, flag, remark), world = LISTS[code], World(tmp_path)
    for broker, topics in enumerate((("T1", "T2", "T3"), ("U1", "U2"))):
        body = register_body([topic_config(name, flag=flag) for name in topics], data_version(1))
        ext = register_ext(body=body, broker=f"broker-{broker}", addr=f"10.0.0.{broker}:10911")
        assert world.ask(103, ext, body).code == codes.SUCCESS
        if not broker:
            assert world.ask(code, fields) == Reply(body=b'{"topicList":["T1","T2","T3"]}')
    monkeypatch.delattr(bodies, "topic_list")
    assert world.ask(code, fields) == Reply(1, remark)


MANY = 100_000


def test_all_topics_of_a_broker_are_counted_and_changed(server: NameServer) -> None:
    """Also after many of them left and came back."""
    names, topics = Names(), compressed_body([topic_config(f"T{number}") for number in range(MANY)])
    with server.connect() as client:
        register_with(client, names, topics, compressed="true")
        for number in range(0, 600, 2):
            gone = {"topic": f"T{number}"}
            assert client.request(codes.DELETE_TOPIC_IN_NAMESRV, gone).code == codes.SUCCESS
        wiped = client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        assert (wiped.ext or {})["wipeTopicCount"] == str(MANY - 300)
        register_with(client, names, topics, compressed="true")
        added = client.request(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": names.broker})
        assert (added.ext or {})["addTopicCount"] == str(MANY)

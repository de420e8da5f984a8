"""What a name server saves of a registration changes nothing: a body that it had is not read again, topics that it has
are not decoded again, and compiled code writes and reads queues like Python.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from interop.harness.payloads import compressed_body, data_version, dumps, register_body, register_ext, topic_config
from rocketns._fast.routes.queue_table import put_queues, read_queues
from rocketns._fast.routes.routes import PublishedTopics
from rocketns.journal import encoding
from rocketns.processor import broker as processor
from rocketns.processor.context import Now
from rocketns.protocol.body import register_broker_body
from rocketns.protocol.body.route import QueueData, queue_data
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import TopicChange
from rocketns.routeinfo.unregistration import unregister_brokers
from tests.compiled.parts import answer
from tests.fast.lookups import CLIENTS, PublishedWorld, look_up
from tests.processor.asking import World

TOPICS = ["T1", "T2", "T3", "Ü"]
CHANGED_MS = 1_699_999_000_000  # before the time of the name servers


@dataclass(frozen=True)
class Step:
    """One request; or a pause in ms, after which overdue brokers expire."""

    code: int
    ext: dict[str, Any]
    body: bytes = b""
    pause_ms: int = 0


def registration(
    broker: tuple[str, str, int], topics: list[dict[str, Any]], counter: int, compressed: bool, more: dict[str, Any]
) -> Step:
    name, addr, broker_id = broker
    filters, mapping = more.get("filters", ()), more.get("mapping")
    if compressed:
        body = compressed_body(topics, data_version(counter, CHANGED_MS), filters=filters or ())
    else:
        body = register_body(topics, data_version(counter, CHANGED_MS), filters=filters, mapping=mapping)
    ext = {key: value for key, value in more.items() if key not in ("filters", "mapping")}
    ext |= {"compressed": str(compressed).lower()}
    return Step(103, register_ext(broker=name, addr=addr, broker_id=broker_id, body=body, **ext), body)


topics = st.lists(
    st.builds(topic_config, st.sampled_from(TOPICS), st.sampled_from([4, 8]), st.just(8), st.sampled_from([4, 6])),
    max_size=5,
)
brokers = st.sampled_from([("ba", "10.0.0.1:1", 0), ("ba", "10.0.0.2:1", 0), ("ba", "10.0.0.2:1", 1),
                           ("bb", "10.0.0.3:1", 0), ("bb", "10.0.0.1:1", 2)])  # fmt: skip
more = st.fixed_dictionaries({}, optional={
    "filters": st.sampled_from([("f:1",), (), None]),
    "mapping": st.sampled_from([None, {"T3": {"topic": "T3", "bname": "ba"}}]),
    "enableActingMaster": st.sampled_from(["true", "false"]),
    "heartbeatTimeoutMillis": st.sampled_from([50, 100_000]),
    "cluster": st.sampled_from(["C1", "C2"]),
})  # fmt: skip
registrations = st.builds(registration, brokers, topics, st.integers(1, 2), st.booleans(), more)
OF_A_TOOL = dumps({"queueDatas": [topic_config("T") | {"brokerName": "ba"}]})
others = st.one_of(
    st.builds(lambda b: Step(104, {"clusterName": "C1", "brokerName": b[0], "brokerAddr": b[1], "brokerId": b[2]}),
              brokers),
    st.builds(lambda topic: Step(216, {"topic": topic}), st.sampled_from(TOPICS)),
    st.builds(lambda topic: Step(217, {"topic": topic}, OF_A_TOOL), st.sampled_from(TOPICS)),
    st.builds(lambda code, name: Step(code, {"brokerName": name}), st.sampled_from([205, 327]),
              st.sampled_from(["ba", "bb"])),
    st.builds(lambda ms: Step(0, {}, pause_ms=ms), st.sampled_from([10, 60])),
)  # fmt: skip
# A registration that was sent so many registrations ago, mostly by the same broker.
again = st.tuples(st.integers(1, 3), st.just({}) | st.fixed_dictionaries({}, optional={
    "brokerName": st.sampled_from(["ba", "bb"]), "brokerAddr": st.sampled_from(["10.0.0.1:1", "10.0.0.2:1"]),
    "brokerId": st.sampled_from([0, 1]), "clusterName": st.just("C2"), "enableActingMaster": st.just("true"),
}))  # fmt: skip
switches = st.sampled_from(["", "deleteTopicWithBrokerRegistration=true\n", "supportActingMaster=true\n"])
ONE = registration(("ba", "10.0.0.1:1", 0), [topic_config("T1"), topic_config("T2")], 1, False, {})
CHANGED = registration(("ba", "10.0.0.1:1", 0), [topic_config("T1"), topic_config("T2", 4)], 2, True, {})
MASTER, SLAVE = ("ba", "10.0.0.1:1", 0), ("ba", "10.0.0.2:1", 1)
ACTING = {"enableActingMaster": "true"}


def table(counter: int, **numbers: int) -> Step:
    """The master's whole table: a topic with these numbers, and another, for a table of one may be refused."""
    return registration(MASTER, [topic_config("T1", **numbers), topic_config("T2")], counter, False, {})


def written(topics: str, counter: int = 2, broker: tuple[str, str, int] = MASTER) -> Step:
    """A registration with a table written by hand."""
    text = '{"topicConfigSerializeWrapper":{"dataVersion":{"counter":%d,"timestamp":1},"topicConfigTable":{%s}}}'
    body = (text % (counter, topics)).encode()
    name, addr, broker_id = broker
    return Step(103, register_ext(broker=name, addr=addr, broker_id=broker_id, body=body), body)


def entry(key: str, queues: int, name: str | None = None) -> str:
    """One topic of such a table."""
    numbers = f'"perm":6,"readQueueNums":{queues},"topicSysFlag":0,"writeQueueNums":{queues}'
    return f'"{key}":{{"topicName":"{name or key}",{numbers}}}'


def by(broker: tuple[str, str, int], step: Step) -> Step:
    """The same registration of another broker."""
    name, addr, broker_id = broker
    return replace(step, ext=step.ext | {"brokerName": name, "brokerAddr": addr, "brokerId": broker_id})


def unregistration(broker: tuple[str, str, int]) -> Step:
    name, addr, broker_id = broker
    return Step(104, {"clusterName": "C1", "brokerName": name, "brokerAddr": addr, "brokerId": broker_id})


def play(world: World, step: Step) -> object:
    """A request's answer, and the tables after it."""
    tables = world.context.tables
    reply: object = None
    if step.pause_ms:
        world.now = Now(world.now.ms + step.pause_ms, world.now.epoch_ms + step.pause_ms)
        expired = liveness.expired_brokers(tables, world.now.ms)
        for one in expired:
            if one.request is not None:
                world.context.unregister_queue.submit(one.request)
    else:
        reply = world.ask(step.code, step.ext, step.body)
    world.context.events += unregister_brokers(tables, world.context.unregister_queue.remove_first(10**6), world.now.ms)
    return reply, list(world.context.events), tables


def is_shown(world: PublishedWorld) -> None:
    """The fast lane's answer for every topic."""
    for topic in TOPICS[:3]:
        for client in (CLIENTS[0], CLIENTS[1]):
            frame = look_up(client, topic)
            assert answer(world.slots, frame, 0) in (None, world.reference(frame))


def changes_nothing(steps: list[Step], properties: str) -> int:
    """Play them to two name servers, of which one saves work. How many bodies it did not read."""
    with TemporaryDirectory() as home:
        (Path(home) / "a").mkdir()
        (Path(home) / "b").mkdir()
        spared, plain = PublishedWorld(Path(home) / "a", properties), World(Path(home) / "b", properties)
        spared.context.registered_topics = partial(PublishedTopics, spared.slots)
        plain.peer = spared.peer
        for step in steps:
            with patch.object(processor, "repeated_body", return_value=None):
                expected = play(plain, step)
            assert play(spared, step) == expected
            plain.context.drain_events()
            plain.context.tables.static_topics.clear()
            plain.context.tables.changed_groups.clear()
            spared.publish()
            is_shown(spared)
        return spared.context.registrations.repeated


@given(st.lists(st.one_of(registrations, again, again, again, others), min_size=20, max_size=40), switches)
@settings(max_examples=30)
def test_what_is_saved_changes_nothing(drawn: list[Step | tuple[int, dict[str, Any]]], properties: str) -> None:
    """B146, B148."""
    steps = [ONE, by(SLAVE, CHANGED)]
    for one in drawn:
        if not isinstance(one, Step):
            back, change = one
            sent = [step for step in steps if step.code == 103]
            one = replace(sent[-min(back, len(sent))], ext=sent[-min(back, len(sent))].ext | change)
        steps.append(one)
    event(f"repeated bodies: {changes_nothing(steps, properties)}")


TWO = [topic_config("T1"), topic_config("T2")]
MASTER_LEFT = [
    registration(MASTER, TWO, 1, False, ACTING),
    registration(SLAVE, TWO, 1, False, ACTING),
    unregistration(MASTER),
]
CASES = {
    "only readQueueNums changes": [table(1, read=8), table(2, read=4)],
    "only writeQueueNums changes": [table(1, write=8), table(2, write=4)],
    "only perm changes": [table(1, perm=6), table(2, perm=4)],
    "only topicSysFlag changes": [table(1, flag=0), table(2, flag=4)],
    "an acting slave sends the permissions that a tool has just given back": [
        *MASTER_LEFT, Step(327, {"brokerName": "ba"}), registration(SLAVE, TWO, 2, False, ACTING),
    ],
    "the key of a known topic has another topicName": [
        written(",".join([entry("T1", 4), entry("T2", 8)]), counter=1),
        written(",".join([entry("T2", 8, name="T1"), entry("T3", 8)])),
    ],
    "the last of two entries of a topic is the known one": [
        written(",".join([entry("T1", 8), entry("T2", 8)]), counter=1),
        written(",".join([entry("T1", 4), entry("T1", 8), entry("T2", 8)])),
    ],
    "a master that returns has one topic twice": [
        *MASTER_LEFT, written(",".join([entry("T1", 8), entry("T1", 8)])),
    ],
}  # fmt: skip


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_what_slots_could_take_for_known_is_taken_as_it_is(steps: list[Step]) -> None:
    """B110, B137, B151."""
    changes_nothing(steps, "supportActingMaster=true\n")


WHOLE = registration(MASTER, [*TWO, topic_config("T3")], 1, False, {})
AMBIGUOUS = {
    "no version": written('"T1":{},"T2":{}').body.replace(b'"dataVersion":{"counter":2,"timestamp":1},', b""),
    "a version of now": written('"T1":{},"T2":{}').body.replace(b',"timestamp":1', b""),
    "filter servers": register_body(TWO, filters=["f:1"]),
}
REPEATED = {
    "B150: what the smallest slave sent while there was a master": (
        [ONE, by(SLAVE, WHOLE), by(SLAVE, WHOLE), unregistration(MASTER), by(SLAVE, WHOLE)], 1),
    "B154: an address with another name, and with another id": (
        [ONE, by(("bb", MASTER[1], 0), ONE), by(("bb", MASTER[1], 1), ONE)], 0),
    "a topic that was deleted": ([ONE, ONE, Step(216, {"topic": "T1"}), ONE, ONE], 2),
    **{name: ([Step(103, register_ext(body=body), body)] * 3, 0) for name, body in AMBIGUOUS.items()},
}  # fmt: skip


@pytest.mark.parametrize(("steps", "repeated"), REPEATED.values(), ids=REPEATED)
def test_a_body_that_may_mean_something_else_is_read_again(steps: list[Step], repeated: int) -> None:
    assert changes_nothing(steps, "") == repeated


# The compiled step that writes a registration's queues, compared with the same in Python.

Topics = dict[str, dict[str, QueueData]]

names = st.sampled_from(["T1", "T2", "T3", "Ü", "\ud800"])
broker_names = st.sampled_from(["ba", "bb", ""])
# Equal ones are usually one object, and sometimes two.
queues = st.builds(queue_data, st.integers(1, 2), st.just(8), st.just(6), st.just(0))
queues |= st.builds(QueueData, st.integers(1, 2), st.just(8), st.just(6), st.just(0))
tables = st.dictionaries(names, st.dictionaries(broker_names, queues, min_size=1, max_size=3), max_size=4)


def reference(
    topics: Topics, broker: str, queues: dict[str, QueueData], renamed: Mapping[str, str | None], overwrite: bool
) -> list[TopicChange]:
    """createAndUpdateQueueData for each topic that is new to the broker, and with ``overwrite`` for all."""
    changes = []
    for key, new in queues.items():
        topic = renamed.get(key, key)
        if topic is None:
            continue
        old = topics.get(topic, {}).get(broker)
        if old == new or (old is not None and not overwrite):
            continue
        topics.setdefault(topic, {})[broker] = new
        changes.append(TopicChange(topic, old, new))
    return changes


@given(tables, broker_names, st.dictionaries(names, queues, max_size=5),
       st.dictionaries(names, names | st.none(), max_size=2), st.booleans())  # fmt: skip
def test_the_twin_writes_and_reports_like_the_reference(
    topics: Topics, broker: str, queues: dict[str, QueueData], renamed: dict[str, str | None], overwrite: bool
) -> None:
    expected = copy.deepcopy(topics)
    changes = reference(expected, broker, queues, renamed, overwrite)
    given, added = dict(queues), ["before"]
    assert put_queues(topics, broker, queues, renamed, overwrite, TopicChange, added) == changes
    assert added == ["before", *(change.topic for change in changes if change.old is None)]
    assert [list(topic.items()) for topic in topics.values()] == [list(topic.items()) for topic in expected.values()]
    assert list(topics) == list(expected)
    assert list(queues.items()) == list(given.items())


def test_equal_queues_are_no_change_even_as_another_object() -> None:
    old, equal = QueueData(1, 8, 6, 0), QueueData(1, 8, 6, 0)
    topics = {"T": {"ba": old}}
    assert put_queues(topics, "ba", {"T": equal}, {}, True, TopicChange, []) == []
    assert topics["T"]["ba"] is old is not equal


# The compiled reader of a journal record's topics, compared with orjson and Python.

START = b'{"topics":['
recorded_topics = st.dictionaries(
    st.text(max_size=8), st.builds(queue_data, *[st.integers(-(2**31), 2**31 - 1)] * 4), min_size=1, max_size=5
)


def line(queues: dict[str, QueueData]) -> bytes:
    listed, _ = encoding.topic_list(list(queues), list(queues.values()))
    return orjson.dumps({"topics": listed}) + b"\n"


def numbers(text: bytes) -> QueueData | None:
    try:
        one: dict[str, Any] = orjson.loads(b'{"t":"' + text + b"}")
        return queue_data(one["r"], one["w"], one["p"], one["s"])
    except (KeyError, ValueError):
        return None


def read(data: bytes, start: int = len(START)) -> dict[str, QueueData] | None:
    return read_queues(data, start, numbers)


@given(recorded_topics)
def test_the_twin_reads_journal_lines_without_escapes(queues: dict[str, QueueData]) -> None:
    data = line(queues)
    assert read(data) == (None if b"\\" in data else queues)


@given(recorded_topics, st.data())
@example({"T": queue_data(8, 4, 6, 0)}, None)
def test_damaged_bytes_are_declined_or_mean_what_orjson_reads(queues: dict[str, QueueData], draw: Any) -> None:
    """Any byte may be changed, and the end may be missing. Nothing is read beyond the end."""
    data = bytearray(line(queues))
    if draw is not None:
        for at in draw.draw(st.lists(st.integers(len(START), len(data) - 1), max_size=2)):
            data[at] = draw.draw(st.integers(0, 255))
        del data[draw.draw(st.integers(len(START), len(data))) :]
    found = read(bytes(data))
    if found is not None:
        listed = orjson.loads(data)["topics"]
        assert found == {one["t"]: queue_data(one["r"], one["w"], one["p"], one["s"]) for one in listed}


def test_a_known_topic_before_a_blank_is_not_one_that_came_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser sees it in both of its tries."""
    world = PublishedWorld(tmp_path)
    world.context.registered_topics = partial(PublishedTopics, world.slots)
    play(world, table(1))
    world.publish()
    world.context.drain_events()
    monkeypatch.setattr(register_broker_body, "decode_plain", None)
    play(world, written(entry("T1", 8) + " ,\n" + entry("T3", 4)))
    assert [*world.context.tables.topic_queue_table] == ["T1", "T2", "T3"]

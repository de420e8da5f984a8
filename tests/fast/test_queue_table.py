"""The compiled step that writes a registration's queues, compared with the same in Python."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.routes.queue_table import (
    add_changes,
    change_queues,
    keep_unit_topics,
    put_known,
    put_queues,
    remove_queues,
    routes_of,
)
from rocketns._fast.routes.recorded_queues import read_queues
from rocketns.journal import encoding
from rocketns.protocol.body.route import QueueData, queue_data
from rocketns.routeinfo.events import TopicChange
from rocketns.routeinfo.held.sizes import routes_of_name

Topics = dict[str, dict[str, QueueData]]

names = st.sampled_from(["T1", "T2", "T3", "Ü", "\ud800"])
brokers = st.sampled_from(["ba", "bb", ""])
# Equal ones are usually one object, and sometimes two.
queues = st.builds(queue_data, st.integers(1, 2), st.just(8), st.just(6), st.just(0))
queues |= st.builds(QueueData, st.integers(1, 2), st.just(8), st.just(6), st.just(0))
tables = st.dictionaries(names, st.dictionaries(brokers, queues, min_size=1, max_size=3), max_size=4)


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


@given(tables, brokers, st.dictionaries(names, queues, max_size=5),
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


def test_changes_are_what_the_class_itself_would_make() -> None:
    (change,) = put_queues({}, "ba", {"T": queue_data(1, 1, 6, 0)}, {}, True, TopicChange, [])
    assert type(change) is TopicChange
    assert (change.topic, change.old, change.new) == ("T", None, queue_data(1, 1, 6, 0))


def test_changes_that_are_no_tuples_are_refused() -> None:
    with pytest.raises(TypeError):
        put_queues({}, "ba", {"T": queue_data(1, 1, 6, 0)}, {}, True, list, [])  # type: ignore[type-var]


@given(tables, brokers, st.dictionaries(names, queues, max_size=4))
def test_known_queues_are_written_as_a_registration_writes_them(
    topics: Topics, broker: str, new: dict[str, QueueData]
) -> None:
    expected = copy.deepcopy(topics)
    reference(expected, broker, new, {}, True)
    put_known(topics, broker, new)
    assert topics == expected
    assert list(topics) == list(expected)


@given(tables)
def test_a_whole_table_is_listed_as_changes_of_its_brokers(topics: Topics) -> None:
    piece: dict[str, list[TopicChange]] = {}
    for topic, of_topic in topics.items():
        add_changes(piece, topic, of_topic, TopicChange)
    assert piece == {
        broker: [TopicChange(topic, None, of_topic[broker]) for topic, of_topic in topics.items() if broker in of_topic]
        for broker in {name for of_topic in topics.values() for name in of_topic}
    }


@given(tables, brokers)
def test_queues_are_changed_as_a_loop_would(topics: Topics, broker: str) -> None:
    names = [topic for topic, of_topic in topics.items() if broker in of_topic]
    expected = [TopicChange(topic, topics[topic][broker], topics[topic][broker].with_perm(4)) for topic in names]
    others = {topic: {name: of for name, of in some.items() if name != broker} for topic, some in topics.items()}
    half = names[::2]
    assert change_queues(topics, broker, half, lambda old: old.with_perm(4), TopicChange) == expected[::2]
    assert change_queues(topics, broker, names, lambda old: old.with_perm(4), TopicChange) == expected[1::2]
    remove_queues(topics, broker, names)
    assert topics == {topic: some for topic, some in others.items() if some}


@given(st.lists(st.dictionaries(names, st.integers(0, 5), max_size=5), max_size=4))
def test_unit_topics_are_those_whose_last_queues_have_a_flag(registrations: list[dict[str, int]]) -> None:
    topics: Topics = {}
    unit_topics: dict[str, None] = {}
    for flags in registrations:
        new = {topic: queue_data(8, 8, 6, flag) for topic, flag in flags.items()}
        keep_unit_topics(put_queues(topics, "ba", new, {}, True, TopicChange, []), unit_topics, 3)
    assert unit_topics.keys() == {topic for topic, brokers in topics.items() if brokers["ba"].topic_sys_flag & 3}


@given(st.lists(st.integers(0, 1100).map(lambda length: "x" * length)), st.integers(0, 3))
def test_routes_of_names_are_their_sum(names: list[str], start: int) -> None:
    assert routes_of(names, start) == sum(map(routes_of_name, names[start:]))


# The compiled reader of a journal record's topics, compared with orjson and Python.

START = b'{"topics":['
NUMBERS = b'","r":8,"w":4,"p":6,"s":0'
topics = st.dictionaries(
    st.text(max_size=8), st.builds(queue_data, *[st.integers(-(2**31), 2**31 - 1)] * 4), min_size=1, max_size=5
)


def line(queues: dict[str, QueueData]) -> bytes:
    (listed,) = encoding.topic_lists(list(queues), list(queues.values()))
    return orjson.dumps({"topics": listed}) + b"\n"


def numbers(text: bytes) -> QueueData | None:
    try:
        one: dict[str, Any] = orjson.loads(b'{"t":"' + text + b"}")
        return queue_data(one["r"], one["w"], one["p"], one["s"])
    except (KeyError, ValueError):
        return None


def read(data: bytes, start: int = len(START)) -> dict[str, QueueData] | None:
    return read_queues(data, start, numbers)


@given(topics)
def test_the_twin_reads_journal_lines_without_escapes(queues: dict[str, QueueData]) -> None:
    data = line(queues)
    assert read(data) == (None if b"\\" in data else queues)


@given(topics, st.data())
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


ENTRY = b'{"t":"T' + NUMBERS + b"}"


@pytest.mark.parametrize("data", [
    b"", START, START + b"]}\n", START + ENTRY, START + ENTRY + b"]}", START + ENTRY + b",]}\n",
    START + ENTRY + b'],"x":1}\n', START + b'{"t":"T"}]}\n', START + b'{"t":"\\u0041' + NUMBERS + b"}]}\n",
    START + b'{"t":"\x01' + NUMBERS + b"}]}\n", START + b'{"t":"\xff' + NUMBERS + b"}]}\n",
    START + b'{"t":"T", "r":8' + b" " * 64 + b"}]}\n",
])  # fmt: skip
def test_everything_else_is_declined(data: bytes) -> None:
    assert read(data) is None


@pytest.mark.parametrize("start", [-1, 10_000])
def test_a_start_outside_is_declined(start: int) -> None:
    assert read(START + ENTRY + b"]}\n", start) is None

"""Beans of parsed JSON: the compiled functions give the same result as Python's rules for one value."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.codec import json_beans
from rocketns.errors import BodyDecodeError
from rocketns.protocol.body import topic_queue_mapping as mapping
from rocketns.protocol.body.registration import topic_config_wrapper as wrapper
from rocketns.protocol.body.route import TopicTable, queue_data
from rocketns.protocol.bounds import ODD_VALUES_MAX
from rocketns.protocol.json.lenient import NumberText
from rocketns.protocol.json.numbers import as_int
from tests.protocol.strategies import json_values, texts

odd = st.one_of(json_values, st.integers(), st.sampled_from([True, "5", "", 2**31, -(2**31), -(2**31) - 1, [1]]),
                st.integers().map(str).map(NumberText))  # fmt: skip
topics = st.one_of(
    odd,
    st.dictionaries(
        st.sampled_from(["topicName", "readQueueNums", "writeQueueNums", "perm", "topicSysFlag", "attributes"]),
        st.one_of(odd, texts, st.integers(0, 9)),
    ),
)


def outcome(make: Any) -> Any:
    with suppress(BodyDecodeError):
        return make()
    return "refused"


@given(st.dictionaries(texts, topics, max_size=3))
@example({"a": {"topicName": None}})
@example({"a": {"topicName": "a", "attributes": ""}})
def test_topics_are_those_of_the_reference(table: dict[str, Any]) -> None:
    expected = outcome(lambda: TopicTable.of((key, wrapper._topic_config(item)) for key, item in table.items()))
    found = outcome(lambda: wrapper._topic_table(table))
    assert found == expected
    if found != "refused":
        assert (found.renamed, list(found)) == (expected.renamed, list(expected))


@given(st.dictionaries(st.one_of(texts, st.integers().map(str)), odd, max_size=3))
def test_queue_ids_are_those_of_the_reference(ids: dict[str, Any]) -> None:
    slow = {}

    def convert() -> Any:
        for key, value in ids.items():
            slow[mapping._map_int(key)] = mapping._map_int(value)
        return slow

    assert outcome(lambda: mapping._id_map(ids)) == outcome(convert)


def test_odd_values_have_a_limit() -> None:
    table = {str(number): "5" for number in range(ODD_VALUES_MAX)}
    assert len(json_beans.id_map(table, as_int)) == ODD_VALUES_MAX
    with pytest.raises(ValueError, match="more than"):
        json_beans.id_map(table | {"x": "5"}, as_int)
    odd_topic = wrapper._topic_config
    with pytest.raises(ValueError, match="more than"):
        json_beans.topic_tables({str(number): {"perm": "6"} for number in range(ODD_VALUES_MAX + 1)},
                                queue_data, odd_topic, 16, 6)  # fmt: skip


def floats_in(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(map(floats_in, inner))


@given(json_values)
def test_floats_are_found(value: Any) -> None:
    assert json_beans.has_float(value, 128) == floats_in(value)


def test_levels_have_a_limit() -> None:
    value: Any = []
    for _ in range(5):
        value = [value]
    assert json_beans.shown(value, 5, None) == value
    for look in (lambda: json_beans.has_float(value, 4), lambda: json_beans.shown(value, 4, lambda leaf: leaf)):
        with pytest.raises(RecursionError):
            look()


def test_nulls_of_objects_are_left_out_and_those_of_lists_stay() -> None:
    """As fastjson2 writes a value."""
    value = {"a": None, "b": [None, 1, {"c": None}]}
    assert json_beans.shown(value, 9, lambda leaf: leaf) == {"b": [None, 1, {}]}


@given(st.dictionaries(texts, st.none()))
def test_the_longest_key(given: dict[str, None]) -> None:
    assert json_beans.longest(given) == max(map(len, given), default=0)

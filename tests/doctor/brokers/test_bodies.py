"""The answers of brokers as values."""

from __future__ import annotations

import pytest

from rocketns.doctor.asking.brokers import bodies
from rocketns.doctor.asking.brokers.reading import LARGE_BYTES, may_be_large
from rocketns.doctor.facts.brokers import Clock
from tests.doctor.counting import as_json, group, topic

NO_TIME = "[ 0 days, 0 hours, 0 minutes, 0 seconds ]"


@pytest.mark.parametrize(
    ("runtime", "ran_s"),
    [("[ 0 days, 0 hours, 0 minutes, 13 seconds ]", 13), ("[ 1,024 days, 1 hours, 0 minutes, 1 seconds ]", 88_477_201),
     ("[ 1'024 days, 0 hours, 0 minutes, 0 seconds ]", 88_473_600)],
)  # fmt: skip
def test_clock_is_known_to_a_second_and_what_the_answer_took(runtime: str, ran_s: int) -> None:
    numbers = {"bootTimestamp": "1000000", "runtime": runtime}
    now_s = 1000 + ran_s
    assert bodies.clock(numbers, now_s - 0.25, now_s + 0.5) == Clock(-500, 1250)


@pytest.mark.parametrize(
    "numbers", [{}, {"bootTimestamp": "1"}, {"bootTimestamp": "x", "runtime": NO_TIME},
                {"bootTimestamp": "1", "runtime": "[ days ]"}],
)  # fmt: skip
def test_clock_that_is_not_told(numbers: dict[str, str]) -> None:
    assert bodies.clock(numbers, 0, 0) is None


def test_entry_of_a_table_is_found_without_decoding_the_others() -> None:
    names = ["Order", 'With "quotes"', "With \\", "{", "名字"]
    table = b'{"topicConfigTable":{' + b",".join(
        as_json(name) + b":" + as_json(topic(name, queues=n)) for n, name in enumerate(names)
    ) + b"},broken"  # fmt: skip
    for number, name in enumerate(names[:4]):
        found = bodies.entry(table, name)
        assert found is not None
        assert found["readQueueNums"] == number
    assert bodies.entry(table, "Nobody") is None


def test_entry_in_the_form_of_java_has_names_that_are_not_ascii() -> None:
    assert bodies.entry('{"t":{"名字":{"perm":6}}}'.encode(), "名字") == {"perm": 6}


def test_entry_without_an_end_is_none() -> None:
    assert bodies.entry(b'{"a":{' + b"[" * 1000, "a") is None
    assert bodies.entry(b'{"a":{"b":"' + b"x" * 1_000_000 + b'"}}', "a") is None


def test_similar_groups_are_the_nearest_names() -> None:
    table = as_json({name: group(name) for name in ("readers", "Reader", "writers", "re_ader")})
    assert set(bodies.similar_groups(table, "reader")) == {"readers", "Reader", "re_ader"}


@pytest.mark.parametrize("body", [b"", b"{}", b'{"offsetTable":{}}', b'{"offsetTable":{{"a":1}:[]}}'])
def test_no_offsets(body: bytes) -> None:
    assert bodies.offsets(body) == ((), 0.0)


def test_many_topics_may_be_a_large_registration() -> None:
    assert not may_be_large(f"topic-{n}" for n in range(10_000))
    assert may_be_large(f"topic-{n}" for n in range(60_000))
    assert may_be_large(["x" * LARGE_BYTES])

"""The compiled reader of a journal record's topics, compared with orjson and Python."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.routes.recorded_queues import read_queues
from rocketns.journal import encoding
from rocketns.protocol.body.route import QueueData, queue_data

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

"""Cutting what a peer sends into frames: kept is what was asked for, and nothing else."""

from __future__ import annotations

import asyncio
import json
import struct

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.client import answers, reading
from rocketns.client.answers import UNASKED_BYTES_MAX, UNASKED_FRAMES_MAX, UNASKED_WINDOW_S, Answers
from rocketns.client.reading import HEADER_BYTES_MAX, AnswerReader
from rocketns.errors import MalformedFrame
from rocketns.protocol import command

MB = 1 << 20


class Stream:
    """A reader whose requests 1, 2 … wait for answers of up to a megabyte."""

    def __init__(self, waiting: int = 0, bytes_max: int = MB) -> None:
        self.now_s = 0.0
        self.answers = Answers(lambda: self.now_s)
        for opaque in range(1, waiting + 1):
            self.answers.expect(opaque, lambda answer: answer, bytes_max)
        self.reader = AnswerReader(self.answers.wants, 16 * MB)

    def feed(self, data: bytes, step: int | None = None) -> list[int]:
        parts = [data] if step is None else [data[at : at + step] for at in range(0, len(data), step)]
        return [opaque for part in parts for opaque, _ in self.reader.feed(part)]


@pytest.fixture(autouse=True)
def loop() -> object:
    """Futures belong to a loop."""
    made = asyncio.new_event_loop()
    asyncio._set_running_loop(made)
    yield made
    asyncio._set_running_loop(None)
    made.close()


def answer(opaque: int, body: bytes = b"", flag: int = 1) -> bytes:
    return frame(json_header(0, opaque=opaque, flag=flag), body)


@pytest.mark.parametrize("step", [1, 7, 100, None])
def test_answers_are_found_in_pieces_of_any_size(step: int | None) -> None:
    stream = Stream(waiting=3)
    binary = frame(binary_header(0, None, opaque=3, flag=1), b"b" * 50, ROCKETMQ)
    data = answer(9) + answer(2, b"x" * 300) + answer(1, flag=0) + answer(1) + binary + answer(2)
    assert stream.feed(data, step) == [2, 1, 3]
    assert stream.reader.held_bytes == 0


def test_a_frame_that_nobody_asked_for_is_not_collected() -> None:
    """Of its bytes only those of the header are kept, and the frame behind it is found."""
    stream = Stream(waiting=1)
    junk = answer(9, bytes(MB - 200))
    assert stream.feed(junk[:50]) == []
    assert stream.reader.held_bytes == 50
    assert stream.feed(junk[50 : MB // 2]) == []
    assert stream.reader.held_bytes == 0
    assert stream.feed(junk[MB // 2 :] + answer(1)) == [1]


def test_so_many_frames_that_nobody_asked_for_are_skipped_in_a_minute() -> None:
    stream = Stream()
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    stream.now_s = UNASKED_WINDOW_S
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    with pytest.raises(MalformedFrame, match="nobody asked for"):
        stream.feed(answer(9))


def test_so_many_bytes_that_nobody_asked_for_are_skipped_in_a_minute() -> None:
    """A larger frame ends the connection with its header."""
    head = struct.pack(">i", UNASKED_BYTES_MAX)
    with pytest.raises(MalformedFrame, match="nobody asked for"):
        Stream().feed(head + answer(9)[4:])


def test_a_late_answer_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only once, and only so many are remembered."""
    monkeypatch.setattr(answers, "LATE_MAX", 2)
    stream = Stream(waiting=3)
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    for opaque in (1, 2, 3):
        stream.answers.forget(opaque)
    assert stream.feed(answer(3) + answer(2)) == []
    for again in (1, 2):
        with pytest.raises(MalformedFrame):
            stream.feed(answer(again))


def test_an_answer_has_a_bound() -> None:
    stream = Stream(waiting=1, bytes_max=1_000)
    with pytest.raises(MalformedFrame, match="1000"):
        stream.feed(answer(1, bytes(1_000))[:200])


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0", b"\xff\xff\xff\xff", struct.pack(">i", 16 * MB), frame(b"{}"), frame(b'{"flag":1}'),
        frame(b'{"opaque":1,"opaque":2,"flag":1}'), frame(b'{"opaque":12345678901,"flag":1}'), frame(b"x" * 5, b"", 1),
        frame(b"{}", b"", 2), struct.pack(">iI", HEADER_BYTES_MAX + 100, HEADER_BYTES_MAX + 1), b"\0\0\0\x08\0\0\0\x09",
    ],
    ids=["empty", "negative", "too large", "no opaque", "flag only", "two opaques", "no int", "short binary", "type",
         "long header", "header beyond frame"],
)  # fmt: skip
def test_an_invalid_frame_closes_the_connection(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        Stream(waiting=1).feed(data)


def test_headers_are_kept_up_to_their_bound() -> None:
    stream = Stream()
    stream.feed(struct.pack(">iI", HEADER_BYTES_MAX + 100, HEADER_BYTES_MAX) + b" " * (HEADER_BYTES_MAX - 1))
    assert stream.reader.held_bytes == HEADER_BYTES_MAX + 7
    assert reading.HEADER_BYTES_MAX <= 64 * 1024


@pytest.mark.parametrize("remark", ['"opaque":9,', '{"opaque": 9}', "\\"])
def test_the_opaque_is_that_of_the_decoder(remark: str) -> None:
    """Texts in an answer do not change it."""
    stream = Stream(waiting=1)
    fields = {"code": 1, "extFields": {"opaque": "3"}, "flag": 1, "opaque": 1, "remark": remark}
    header = json.dumps(fields, separators=(",", ":")).encode()
    assert command.decode(frame(header)).opaque == 1
    assert stream.feed(frame(header)) == [1]

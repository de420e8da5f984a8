"""Finding a frame: the compiled function equals its Python twin on valid, cut, mutated and hostile input."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import wire
from rocketns.protocol import frame as reference

MAX = reference.FRAME_SIZE_MAX_BYTES
INT_MAX = 2**31 - 1
NextFrame = Callable[[bytes, int, int], int]

headers = st.one_of(
    st.binary(max_size=40),
    st.just(json_header(105, {"topic": "T"})),
    st.just(binary_header(105, {"topic": "T"})),
)
valid_frames = st.builds(frame, headers, st.binary(max_size=40), st.sampled_from([JSON, ROCKETMQ]))
hostile_frames = st.builds(
    lambda length, word, rest: struct.pack(">iI", length, word) + rest,
    st.one_of(st.integers(-(2**31), INT_MAX), st.integers(-4, 40), st.integers(MAX - 8, MAX + 8)),
    st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(2**24 - 1, 2**24 + 40)),
    st.binary(max_size=40),
)
limits = st.one_of(st.just(MAX), st.integers(0, 100), st.integers(0, 2**32 - 1))


@st.composite
def mutated_frames(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(valid_frames))
    for _ in range(draw(st.integers(1, 3))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


@st.composite
def cut_frames(draw: st.DrawFn) -> bytes:
    data = draw(valid_frames)
    return data[: draw(st.integers(0, len(data)))]


buffers = st.lists(
    st.one_of(valid_frames, cut_frames(), mutated_frames(), hostile_frames, st.binary(max_size=20)),
    max_size=4,
).map(b"".join)


@given(buffers, limits)
@example(b"", MAX)
@example(struct.pack(">iI", INT_MAX, 0), 2**32 - 1)
@example(struct.pack(">iI", -1, 0), 2**32 - 1)
@settings(deadline=None)
def test_equals_the_twin_at_every_offset(buffer: bytes, frame_size_max: int) -> None:
    for start in range(len(buffer) + 1):
        expected = reference.next_frame(buffer, start, frame_size_max)
        assert wire.next_frame(buffer, start, frame_size_max) == expected, (buffer, start)


@example(b"x", -(2**63))  # their difference does not fit into 64 bits
@given(buffers, st.one_of(st.integers(-(2**63), -1), st.integers(1, 2**62)))
@settings(deadline=None)
def test_refuses_a_start_outside_the_buffer(buffer: bytes, distance: int) -> None:
    start = distance if distance < 0 else len(buffer) + distance
    for next_frame in (wire.next_frame, reference.next_frame):
        with pytest.raises(ValueError, match="outside a buffer"):
            next_frame(buffer, start, MAX)


@pytest.fixture(params=[wire.next_frame, reference.next_frame], ids=["compiled", "twin"])
def next_frame(request: pytest.FixtureRequest) -> NextFrame:
    return request.param


@given(st.lists(valid_frames.filter(lambda f: f[7] or f[4]), min_size=1, max_size=4))
@settings(deadline=None)
def test_frames_follow_one_another_and_a_cut_one_needs_more(frames: list[bytes]) -> None:
    for function in (wire.next_frame, reference.next_frame):
        buffer, at = b"".join(frames), 0
        for one in frames:
            assert function(buffer, at, MAX) == len(one)
            for cut in range(len(one)):
                assert function(buffer[: at + cut], at, MAX) == 0
            at += len(one)
        assert function(buffer, at, MAX) == 0


def whole(length: int, word: int = 0x0000_0002) -> bytes:
    return struct.pack(">iI", length, word)[: 4 + max(length, 0)].ljust(4 + max(length, 0), b"x")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack(">i", MAX - 3), -1),
        (struct.pack(">i", MAX - 4), 0),
        (struct.pack(">i", -1), -1),
        (struct.pack(">i", -(2**31)), -1),
        (b"\xff\xff\xff", 0),
        (whole(0), -1),
        (whole(3), -1),
        (whole(3)[:-1], 0),
        (whole(4, 0x0000_0000), -1),
        (whole(4, 0x0100_0000), 8),
        (whole(6, 0x0000_0002), 10),
        (whole(6, 0x0000_0002)[:-1], 0),
        (whole(6, 0x0000_0003), -1),
        (whole(6, 0x0000_0003)[:-1], 0),
        (whole(6, 0x0200_0002), -1),
        (whole(6, 0xFF00_0002), -1),
        (whole(6, 0xFF00_0002)[:-1], 0),
    ],
)  # fmt: skip
def test_size_of_the_frame_at_the_edges(next_frame: NextFrame, data: bytes, expected: int) -> None:
    assert next_frame(data, 0, MAX) == expected
    assert next_frame(b"\x00" * 5 + data, 5, MAX) == expected


def test_the_largest_frame_is_found(next_frame: NextFrame) -> None:
    assert next_frame(whole(MAX - 4, 0x00FF_FFF8), 0, MAX) == MAX


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_any_buffer_of_bytes(next_frame: NextFrame, kind: type) -> None:
    assert next_frame(kind(whole(6)), 0, MAX) == 10
    assert next_frame(kind(b""), 0, MAX) == 0

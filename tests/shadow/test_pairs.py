"""A pair goes from the relay to the judge as bytes and comes out as it was, however the bytes are cut."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.shadow import pairs
from rocketns.shadow.pairs import PAIR_BYTES_MAX, Pair, Unpacking, bounded, packed

ONE = Pair(7, "10.0.0.1:40000", 1_700_000_000_000, b"request", b"upstream", b"own", 1.5, 0.25)
TIMES = st.none() | st.floats(0, 1e6)
ANSWERS = st.none() | st.binary(max_size=50)
ANY = st.builds(
    Pair, st.integers(0, 2**63 - 1), st.text(max_size=20), st.integers(0, 2**53), st.binary(max_size=50),
    ANSWERS, ANSWERS, TIMES, TIMES,
)  # fmt: skip


@given(st.lists(ANY, max_size=5), st.integers(1, 30))
def test_pairs_come_out_of_pieces_of_any_size_as_they_went_in(sent: list[Pair], size: int) -> None:
    data, unpacking = b"".join(map(packed, sent)), Unpacking()
    found = [pair for start in range(0, len(data), size) for pair in unpacking.feed(data[start : start + size])]
    assert found == sent


def test_an_empty_answer_is_not_a_missing_one() -> None:
    (found,) = Unpacking().feed(packed(ONE._replace(upstream=b"", own=None)))
    assert (found.upstream, found.own) == (b"", None)


def test_a_long_name_of_a_peer_is_cut() -> None:
    (found,) = Unpacking().feed(packed(ONE._replace(peer="p" * 1000)))
    assert found.peer == "p" * pairs.PEER_BYTES_MAX


def test_a_pair_beyond_the_limit_is_not_packed() -> None:
    large = ONE._replace(own=bytes(PAIR_BYTES_MAX))
    assert bounded(ONE)
    assert not bounded(large)
    with pytest.raises(ValueError, match="more than"):
        packed(large)


def test_a_length_beyond_the_limit_is_refused_before_its_bytes_are_there() -> None:
    with pytest.raises(ValueError, match="a pair of"):
        Unpacking().feed(struct.pack(">I", PAIR_BYTES_MAX + 1))


@pytest.mark.parametrize("change", [1, 255])
def test_lengths_that_do_not_add_up_are_refused(change: int) -> None:
    data = bytearray(packed(ONE))
    data[4 + pairs._FIELDS.size - 1] = change
    with pytest.raises(ValueError, match="add up"):
        Unpacking().feed(bytes(data))

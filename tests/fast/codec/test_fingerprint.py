"""The fingerprint of a body: equal for equal bytes, and different for others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.codec.fingerprint import fingerprint

bodies = st.binary(min_size=1, max_size=400)


@given(bodies, st.integers(0, 7))
def test_equal_bytes_have_one_fingerprint_wherever_they_lie(body: bytes, offset: int) -> None:
    assert fingerprint(memoryview(bytes(offset) + body)[offset:]) == fingerprint(body)


@given(bodies, st.data())
def test_a_changed_byte_changes_it(body: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    other = bytearray(body)
    other[place] ^= data.draw(st.integers(1, 255))
    assert fingerprint(other) != fingerprint(body)


@given(bodies, st.integers(1, 130))
def test_bytes_more_or_fewer_change_it(body: bytes, count: int) -> None:
    assert fingerprint(body + bytes(count)) != fingerprint(body)
    assert fingerprint(bytes(count) + body) != fingerprint(body)


@given(st.lists(st.binary(min_size=16, max_size=16), min_size=2, max_size=16, unique=True), st.data())
def test_it_matters_where_a_piece_is(pieces: list[bytes], data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.integers(0, len(pieces) - 1), min_size=2, max_size=2, unique=True))
    swapped = list(pieces)
    swapped[one], swapped[other] = pieces[other], pieces[one]
    assert fingerprint(b"".join(swapped)) != fingerprint(b"".join(pieces))

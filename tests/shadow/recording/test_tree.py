"""JSON text keeps every token; what is no JSON, or too deep, is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.shadow.recording import tree
from rocketns.shadow.recording.tree import DEPTH_MAX, UnreadableError, parse, write

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_compact_json_is_written_as_it_was(value: object, ascii_only: bool) -> None:
    data = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert write(parse(data)) == data


def test_keys_without_quotes_and_repeated_ones_stay() -> None:
    data = b'{0:"a",0:"b",-1:null,"x":[{}]}'
    assert write(parse(data)) == data


@pytest.mark.parametrize("data", [b"", b"{", b"}", b"[1", b'{"a"}', b'{"a":}', b'["a" "b"]', b"{}{}", b'"a', b"[1,]x"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        parse(data)


def test_objects_in_each_other_are_bounded() -> None:
    with pytest.raises(UnreadableError, match=str(DEPTH_MAX)):
        parse(b"[" * 100_000)


def test_the_number_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "TOKENS_MAX", 5)
    assert write(parse(b"[1,2]")) == b"[1,2]"
    with pytest.raises(UnreadableError, match="more than 5"):
        parse(b"[1,2,3]")

"""Bodies that are deep, wide or long cost a bounded amount, and are different rather than an error."""

from __future__ import annotations

import pytest

from rocketns.shadow.comparing import tokens
from rocketns.shadow.comparing.comparing import Comparing
from rocketns.shadow.counting.kept import DIFFERENCES_MAX, SHOWN_CHARACTERS
from rocketns.shadow.outcome import Outcome
from tests.shadow.frames import answer, pair, request


@pytest.mark.parametrize("body", [
    b'{"table":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"table":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    b'{"table":{' + b'"a":"' + b"\\" * 100_001,
    b'{"brokerDatas":[{"brokerAddrs":' + b"},{" * 100_000,
    b'{"topicList":[' + b'"' * 100_001,
    b'{"brokerAddrTable":1,"clusterAddrTable":null}',
    b'{"brokerDatas":null,"queueDatas":{}}',
    b'{"topicList":{"a":[]}}',
    bytes(range(256)) * 100,
])  # fmt: skip
@pytest.mark.parametrize("code", [105, 106, 206, 219, 319])
def test_a_hostile_body_differs_and_is_cut(body: bytes, code: int) -> None:
    found = Comparing().compare(pair(answer(body), answer(b'{"table":{"a":"1"}}'), request(code)))
    assert found.outcome is Outcome.DIFFERENT
    assert all(len(one.upstream) <= SHOWN_CHARACTERS and len(one.own) <= SHOWN_CHARACTERS for one in found.differences)


def test_a_body_of_more_tokens_than_the_bound_is_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = b'{"table":{"a":"1","b":"2"}}', b'{"table":{"b":"2","a":"1"}}'
    assert Comparing().compare(pair(answer(one), answer(other))).outcome is Outcome.ORDER
    monkeypatch.setattr(tokens, "TOKENS_MAX", 10)
    assert Comparing().compare(pair(answer(one), answer(other))).outcome is Outcome.DIFFERENT


def test_of_many_differences_the_first_are_named() -> None:
    one, other = ({"table": {f"k{number}": side for number in range(1000)}} for side in "ab")
    found = Comparing().compare(pair(answer(one), answer(other), request(219)))
    assert len(found.differences) == DIFFERENCES_MAX


def test_a_binary_header_with_lengths_beyond_itself_is_no_frame() -> None:
    header = b"\0\0\0\0\0\0\0\0\0\1\0\0\0\0" + b"\x7f\xff\xff\xff" * 2
    data = (4 + len(header)).to_bytes(4, "big") + (1 << 24 | len(header)).to_bytes(4, "big") + header
    assert Comparing().compare(pair(data, answer())).note.startswith("an answer is no frame")

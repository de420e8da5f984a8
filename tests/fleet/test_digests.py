"""Digests of routes: equal where the queues are, in whatever order, and nowhere else."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketns.errors import BodyDecodeError
from rocketns.fleet.digests import KEPT_CHARACTERS_MAX, digest_of, extras_digest, queues_digest, read_route

VALUES_MAX = 1000
KEYS = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")


def element(name: str, *numbers: int) -> dict[str, Any]:
    return {"brokerName": name} | dict(zip(KEYS, numbers, strict=True))


def digest(*elements: Any, **more: Any) -> int:
    body = json.dumps({"brokerDatas": [], "filterServerTable": {}, "queueDatas": list(elements)} | more).encode()
    return queues_digest(read_route(body, VALUES_MAX))


A, B = element("a", 8, 8, 6, 0), element("b", 4, 4, 6, 0)


def test_the_order_of_brokers_and_of_members_does_not_matter() -> None:
    assert digest(A, B) == digest(B, dict(reversed(A.items())))


@pytest.mark.parametrize("other", [B, element("c", 8, 8, 6, 0), *(A | {key: 7} for key in KEYS)], ids=json.dumps)
def test_each_member_of_an_element_counts(other: dict[str, Any]) -> None:
    assert digest(A) != digest(other)


def test_a_missing_broker_counts() -> None:
    assert len({digest(), digest(A), digest(B), digest(A, B)}) == 4


def test_broker_groups_do_not_count() -> None:
    """They are compared on their own."""
    assert digest(A, brokerDatas=[{"brokerName": "a", "cluster": "c", "brokerAddrs": {"0": "x:1"}}]) == digest(A)


numbers = st.tuples(*[st.integers(-(2**31), 2**31 - 1)] * 4)


@settings(max_examples=30)
@given(st.dictionaries(st.text(), numbers, max_size=4))
def test_an_answer_and_the_tables_have_the_same_digest(queues: dict[str, tuple[int, int, int, int]]) -> None:
    assert digest(*(element(name, *one) for name, one in queues.items())) == digest_of(queues.items())


@pytest.mark.parametrize(
    "wrong",
    [None, 1, "x", [], {}, {"brokerName": "a"}, A | {"brokerName": 1}, A | {"brokerName": None}, A | {"perm": "x"},
     A | {"perm": []}, A | {"perm": {}}, A | {"perm": 1 << 40}, A | {"brokerName": ["a"]}],
    ids=json.dumps,
)  # fmt: skip
def test_an_element_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(BodyDecodeError):
        digest(A, wrong)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"1", b'{"queueDatas":{}}', b'{"queueDatas":null}', b"<html>"])
def test_a_body_that_is_no_route_is_refused(body: bytes) -> None:
    with pytest.raises(BodyDecodeError):
        queues_digest(read_route(body, VALUES_MAX))


def test_a_route_with_too_many_values_is_refused() -> None:
    with pytest.raises(BodyDecodeError, match="more than"):
        digest(*[A] * VALUES_MAX)


def test_rare_members_of_a_route_have_a_digest_of_their_own() -> None:
    plain: dict[str, Any] = {"filterServerTable": {"x:1": []}}
    extras = ({"orderTopicConf": "a:4"}, {"filterServerTable": {"x:1": ["f:1"]}},
              {"topicQueueMappingByBroker": {"a": {"epoch": 1}}})  # fmt: skip
    assert extras_digest(plain) == 0
    assert len({extras_digest(plain), *(extras_digest(one) for one in extras)}) == 4


@pytest.mark.parametrize("where", ["brokerName", "perm"])
def test_nothing_long_is_kept(where: str) -> None:
    """A peer names another broker in each route. What was kept of them could grow to 250 GB. A number may be a text."""
    size = 1_000_000 if where == "brokerName" else 1_000

    def route(number: int) -> dict[str, Any]:
        return {"queueDatas": [A | {where: f"{number:0{size}d}"}, element("x" * KEPT_CHARACTERS_MAX, 8, 8, 6, 0)]}

    queues_digest(route(0))
    tracemalloc.start()
    try:
        digests = {queues_digest(route(number)) for number in range(1, 1 + 20_000_000 // size)}
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(digests) >= 20
    assert kept < 8_000_000  # the digests themselves are 4 MB

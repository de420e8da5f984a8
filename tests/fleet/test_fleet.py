"""Digests of routes, and which names are near a name that nobody has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interop.harness import codes, payloads
from interop.harness.wire import Client
from rocketns.errors import BodyDecodeError
from rocketns.fleet import digests
from rocketns.fleet import nearest as module
from rocketns.fleet.digests import CACHED_CHARACTERS_MAX, extras_digest, queues_digest, read_route
from rocketns.fleet.nearest import (
    COMPARED_MAX,
    LETTERS_MAX,
    NAME_CHARACTERS_MAX,
    STEP_LETTERS,
    distance,
    find_nearest,
    nearest,
)
from rocketns.protocol.codes import DIGEST_BUCKETS
from tests.fleet.digests import digest_of
from tests.support.inprocess import TimedServer

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

    def route(number: int) -> dict[str, Any]:
        return {"queueDatas": [A | {where: f"{number:01000d}"}, element("x" * CACHED_CHARACTERS_MAX, 8, 8, 6, 0)]}

    queues_digest(route(0))
    kept = digests._cached_hash.cache_info().currsize
    assert len({queues_digest(route(number)) for number in range(1, 20)}) == 19
    assert digests._cached_hash.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [("order", "order", 0), ("order", "orders", 1), ("order", "rder", 1), ("order", "ordxr", 1), ("order", "ordre", 1),
     ("orderpayed", "orderpaid", 2), ("order", "redro", 3), ("", "ab", 2), ("abcd", "wxyz", 3)],
)  # fmt: skip
def test_a_distance_counts_letters(one: str, other: str, apart: int) -> None:
    """3 is more than 2, whatever it is."""
    assert distance(one, other, 2) == distance(other, one, 2) == apart


@pytest.mark.parametrize("name", ["orderPaid", "order_paid", "ORDER-PAID", "Order.Paid", "ns1%OrderPaid"])
def test_capitals_separators_and_a_namespace_make_no_other_name(name: str) -> None:
    assert nearest(name, ["Refund", "OrderPaid", "Shipped"]) == ("OrderPaid",)


@pytest.mark.parametrize(
    "name", ["OrderPaidd", "OrderPai", "rderPaid", "OrderPiad", "OrdrePaid", "OdrerPaid", "OrderPayed"]
)
def test_a_misspelt_name_has_the_right_one_near(name: str) -> None:
    assert nearest(name, ["Refund", "OrderPaid", "Shipped"]) == ("OrderPaid",)


def test_other_names_are_not_near() -> None:
    assert nearest("OrderPaid", ["OrderSent", "PaidOrder", "O", "", "OrderPaidByInvoice"]) == ()


def test_one_other_letter_is_found_behind_any_number_of_names_that_begin_alike() -> None:
    names = [f"order-service-topic-{number:06}" for number in range(100_000, 100_000 + 3 * COMPARED_MAX)]
    assert "order-service-tpic-900000" not in names
    found = nearest("order-service-tpic-900000", [*names, "order-service-topic-900000"])
    assert found[0] == "order-service-topic-900000"


def test_a_name_longer_than_any_topic_is_not_near() -> None:
    """However long a name a peer registers, lines of the log and answers of the API stay short."""
    longest = "-" * (NAME_CHARACTERS_MAX - len("OrderPaid")) + "OrderPaid"
    assert nearest("OrderPayed", [longest, f"-{longest}"]) == (longest,)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The letters of each name that is compared letter by letter."""
    seen: list[int] = []
    counted = module._counted

    def count(one: str, other: str, most: int) -> int:
        seen.append(len(one))
        return counted(one, other, most)

    monkeypatch.setattr(module, "_counted", count)
    return seen


def unlike_at_both_ends(letters: int, number: int) -> tuple[str, list[str]]:
    """A name, and so many others of which each letter has to be compared."""
    half = "m" * ((letters - 3) // 2)
    return f"a{half}z{half}b", [f"{chr(0x4E00 + n)}{half}k{half}{chr(0x5E00 + n)}" for n in range(number)]


def test_a_step_compares_few_letters(compared: list[int]) -> None:
    name, others = unlike_at_both_ends(LETTERS_MAX, 100)
    done = 0
    for _ in find_nearest(name, others):
        assert sum(compared[done:]) < STEP_LETTERS + LETTERS_MAX
        done = len(compared)
    assert done == 100


def test_a_search_compares_so_many_letters(compared: list[int]) -> None:
    name, others = unlike_at_both_ends(LETTERS_MAX, 1_000)
    assert nearest(name, others) == ()
    assert COMPARED_MAX <= sum(compared) < COMPARED_MAX + LETTERS_MAX


def test_longer_names_are_near_where_one_letter_differs(compared: list[int]) -> None:
    assert nearest("a" + "m" * LETTERS_MAX, ["b" + "m" * LETTERS_MAX, "b" + "m" * LETTERS_MAX + "c"]) == (
        "b" + "m" * LETTERS_MAX,
    )
    assert compared == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TimedServer]:
    with TimedServer(tmp_path, {"enableAllTopicList": "true"}) as one:
        yield one


def buckets(client: Client) -> bytes:
    answer = client.request(codes.GET_ROUTE_DIGESTS)
    assert answer.code == 0
    assert answer.body is not None
    return answer.body


def topics(client: Client) -> dict[str, str]:
    """All buckets together."""
    numbers = buckets(client)
    full = [str(one) for one in range(DIGEST_BUCKETS) if any(numbers[8 * one : 8 * one + 8])]
    answers = [client.request(codes.GET_ROUTE_DIGESTS, {"bucket": one}).json()["table"] for one in full]
    return {topic: digest for answer in answers for topic, digest in answer.items()}


def test_each_topic_is_in_a_bucket_with_its_digest(server: TimedServer) -> None:
    """B076: as an answer to 105 would give it."""
    with server.connect() as client:
        body = payloads.register_body([payloads.topic_config(topic) for topic in "TU"])
        ext = payloads.register_ext(body=body)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == 0
        expected = format(digest_of([("broker-a", (8, 8, 6, 0))]), "x")
        assert topics(client) == {"T": expected, "U": expected}
        before = buckets(client)
        assert len(before) == 8 * DIGEST_BUCKETS
        assert client.request(codes.GET_ROUTE_DIGESTS).ext == {"topics": "2"}
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})
        assert buckets(client) != before
        client.request(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})
        assert buckets(client) == before


@pytest.mark.parametrize("bucket", ["256", "-1", "", "1e3"])
def test_a_bucket_that_is_none(server: TimedServer, bucket: str) -> None:
    """B076."""
    with server.connect() as client:
        answer = client.request(codes.GET_ROUTE_DIGESTS, {"bucket": bucket})
    assert (answer.code, answer.remark) == (codes.SYSTEM_ERROR, "bucket must be a number below 256")

"""What is found without decoding, or remembered, is what decoding finds: for routes and lists of any content."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocketns.shadow.comparing import even
from rocketns.shadow.comparing.comparing import Cache, Comparing
from rocketns.shadow.comparing.even import differ_only_in_order
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair
from tests.shadow.frames import NOW_MS, answer, broker, compact, pair, queues, request

# With what could pass for a separator.
NAMES = st.text(st.sampled_from('ab"\\,{}[]:é'), max_size=6) | st.sampled_from(['},{"brokerAddrs":', '","', "}]", '"]'])
LISTS = st.lists(NAMES, max_size=5)
BROKERS = st.lists(st.builds(broker, NAMES, NAMES), max_size=4)
QUEUES = st.lists(st.builds(queues, NAMES, st.sampled_from([4, 6])), max_size=4)
SEEDS = st.randoms(use_true_random=False)


def decoded_equal(one: bytes, other: bytes) -> bool:
    return even.differing(answer(one), answer(other), NOW_MS) == {}


def shuffled(items: list[Any], chance: random.Random) -> list[Any]:
    return chance.sample(items, len(items))


def of_route(brokers: list[Any], queued: list[Any]) -> bytes:
    return compact({"brokerDatas": brokers, "filterServerTable": {}, "queueDatas": queued})


@given(BROKERS, QUEUES, BROKERS, QUEUES, SEEDS)
def test_routes_that_seem_equal_but_for_order_are_so_decoded(
    brokers: list[Any], queued: list[Any], more: list[Any], others: list[Any], chance: random.Random
) -> None:
    one = of_route(brokers, queued)
    turned = of_route(shuffled(brokers, chance), shuffled(queued, chance))
    for other in (turned, of_route(more, queued), of_route(brokers, others)):
        if one != other and differ_only_in_order(one, other):
            assert decoded_equal(one, other)


@given(LISTS, LISTS, SEEDS)
def test_topics_that_seem_equal_but_for_order_are_so_decoded(names: list[str], others: list[str], chance: Any) -> None:
    one = compact({"topicList": names})
    for list_ in (shuffled(names, chance), others):
        other = compact({"topicList": list_})
        if one != other and differ_only_in_order(one, other):
            assert decoded_equal(one, other)


@given(st.lists(st.text("abc", min_size=1, max_size=5), min_size=2, unique=True), SEEDS)
def test_lists_and_routes_of_usual_names_need_no_decoding(names: list[str], chance: random.Random) -> None:
    mixed = shuffled(names, chance)
    lists = [compact({"topicList": one}) for one in (names, mixed)]
    routes = [of_route([*map(broker, one)], [*map(queues, one)]) for one in (names, mixed)]
    for one, other in (lists, routes):
        assert one == other or differ_only_in_order(one, other)


BODIES = st.lists(st.sampled_from(["a", "b", "é"]), max_size=3).map(lambda names: compact({"topicList": names}))
MORE_BODIES = BODIES | st.sampled_from([compact({"table": {"a": "1"}}), b"", b"x", compact({"timestamp": NOW_MS})])
PAIRS = st.builds(
    lambda one, other, code, at_ms: pair(answer(one), answer(other), request(code), at_ms=at_ms),
    MORE_BODIES, MORE_BODIES, st.sampled_from([105, 106, 206, 319]), st.sampled_from([NOW_MS, NOW_MS + 10**9]),
)  # fmt: skip


@given(st.lists(PAIRS, max_size=30))
def test_what_is_remembered_never_changes_what_is_found(pairs: list[Pair]) -> None:
    remembering = Comparing(alike_max=3, differing_max=2)
    assert [remembering.compare(one) for one in pairs] == [Comparing().compare(one) for one in pairs]


def test_the_entry_that_was_used_least_recently_goes() -> None:
    cache: Cache[int] = Cache(2)
    cache.put(b"a", 1)
    cache.put(b"b", 2)
    assert cache.get(b"a") == 1
    cache.put(b"c", 3)
    assert (cache.get(b"a"), cache.get(b"b"), len(cache)) == (1, None, 2)


def test_a_pair_that_comes_again_is_not_decoded_again() -> None:
    comparing = Comparing()
    one, other = ({"table": dict.fromkeys(keys, "1")} for keys in ("ab", "ba"))
    first, again = (comparing.compare(pair(answer(one), answer(other), request(219))) for _ in range(2))
    assert first.outcome is Outcome.ORDER
    assert again is first

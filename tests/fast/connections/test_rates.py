"""The buckets of hosts: what each may do in a second, in both versions, and that the two decide the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.connections.rates import HostRates as CompiledRates
from rocketns.server.requests import rates as reference
from rocketns.server.requests.rates import HostRates, Rates

BOTH = pytest.mark.parametrize("kind", [HostRates, CompiledRates])
NOW_MS = 1_000_000_000
FLOODER, QUIET = "10.0.0.1", "10.0.0.2"


def limited(kind: type[Rates], requests: int = 0, connections: int = 0) -> Rates:
    rates = kind()
    rates.limit(requests, connections)
    return rates


def asked(rates: Rates, host: str, count: int, now_ms: int = NOW_MS, *, is_known: bool = False) -> int:
    """How many of so many requests are let through."""
    return sum(rates.may_ask(host, is_known, now_ms) for _ in range(count))


@BOTH
@pytest.mark.parametrize("per_second", [1, 2, 3, 7, 1_000])
def test_a_host_has_one_second_s_worth_at_once_and_so_much_again_in_each_second(
    kind: type[Rates], per_second: int
) -> None:
    rates = limited(kind, per_second)
    assert asked(rates, FLOODER, 2 * per_second) == per_second
    assert asked(rates, FLOODER, 2 * per_second, NOW_MS + 1_000) == per_second
    assert asked(rates, FLOODER, 2 * per_second, NOW_MS + 9_000) == per_second  # a pause saves no more


@BOTH
def test_tokens_come_back_evenly(kind: type[Rates]) -> None:
    rates = limited(kind, 10)
    asked(rates, FLOODER, 10)
    assert asked(rates, FLOODER, 9, NOW_MS + 99) == 0
    assert asked(rates, FLOODER, 9, NOW_MS + 100) == 1
    assert asked(rates, FLOODER, 9, NOW_MS + 400) == 3


@BOTH
def test_a_flood_takes_nothing_of_another_host_or_of_a_registered_broker_beside_it(kind: type[Rates]) -> None:
    rates = limited(kind, 5)
    assert asked(rates, FLOODER, 1_000) == 5
    assert asked(rates, QUIET, 5) == 5
    assert asked(rates, FLOODER, 9, is_known=True) == 5


@BOTH
def test_connections_and_requests_have_their_own_limits(kind: type[Rates]) -> None:
    rates = limited(kind, requests=1, connections=2)
    assert [rates.may_connect(FLOODER, NOW_MS) for _ in range(3)] == [True, True, False]
    assert asked(rates, FLOODER, 2) == 1
    assert (rates.refused_requests, rates.refused_connections) == (1, 1)


@BOTH
def test_without_a_limit_nothing_is_refused(kind: type[Rates]) -> None:
    rates = limited(kind)
    assert asked(rates, FLOODER, 10_000) == 10_000
    assert all(rates.may_connect(FLOODER, NOW_MS) for _ in range(10_000))
    assert not rates.take_refused()


@BOTH
def test_a_raised_limit_holds_at_once(kind: type[Rates]) -> None:
    rates = limited(kind, 1)
    assert asked(rates, FLOODER, 10) == 1
    rates.limit(1_000, 0)
    assert asked(rates, FLOODER, 1_000, NOW_MS + 10) == 10
    rates.limit(0, 0)
    assert asked(rates, FLOODER, 1_000, NOW_MS + 10) == 1_000


@BOTH
def test_a_clock_that_went_back_does_not_lock_a_host_out(kind: type[Rates]) -> None:
    rates = limited(kind, 1)
    asked(rates, FLOODER, 1, NOW_MS + 1_000_000)
    assert asked(rates, FLOODER, 1, NOW_MS) == 0
    assert asked(rates, FLOODER, 1, NOW_MS + 1_000) == 0
    assert asked(rates, FLOODER, 1, NOW_MS + 1_001_001) == 1


@BOTH
def test_the_refused_are_told_by_host_once(kind: type[Rates]) -> None:
    rates = limited(kind, requests=1, connections=1)
    asked(rates, FLOODER, 4)
    asked(rates, QUIET, 1)
    rates.may_connect("20010db800000000", NOW_MS)
    rates.may_connect("20010db800000000", NOW_MS)
    assert sorted(rates.take_refused()) == [(FLOODER, 3, 0), ("20010db800000000", 0, 1)]
    assert rates.take_refused() == []
    assert (rates.refused_requests, rates.refused_connections) == (3, 1)


@BOTH
def test_more_hosts_than_there_are_places_do_not_free_the_one_that_floods(kind: type[Rates]) -> None:
    """They forget hosts whose tokens are back before: whoever asked once, not who asked for all."""
    rates = limited(kind, 100)
    assert asked(rates, FLOODER, 100) == 100
    for number in range(5 * reference.SETS * reference.PLACES):
        rates.may_ask(f"h{number}", False, NOW_MS)
    assert asked(rates, FLOODER, 100) == 0


@BOTH
def test_hosts_without_a_place_of_their_own_are_served(kind: type[Rates]) -> None:
    rates = limited(kind, 1)
    hosts = [f"h{number}" for number in range(2 * reference.SETS * reference.PLACES)]
    assert all(rates.may_ask(host, False, NOW_MS) for host in hosts)


@pytest.mark.parametrize("wrong", [(-1, 0), (0, -1)])
def test_a_negative_rate_is_an_error(wrong: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a second"):
        CompiledRates().limit(*wrong)


steps = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from([False, True, None]), st.integers(0, 700)), max_size=80
)


@given(st.integers(0, 9), st.integers(0, 9), steps)
def test_both_versions_decide_the_same(
    requests: int, connections: int, steps: list[tuple[str, bool | None, int]]
) -> None:
    both: list[Rates] = [limited(kind, requests, connections) for kind in (HostRates, CompiledRates)]
    now_ms = NOW_MS
    for host, is_known, passed_ms in steps:
        now_ms += passed_ms
        decided = {
            one.may_connect(host, now_ms) if is_known is None else one.may_ask(host, is_known, now_ms) for one in both
        }
        assert len(decided) == 1
    assert sorted(both[0].take_refused()) == sorted(both[1].take_refused())
    assert both[0].refused_requests == both[1].refused_requests
    assert both[0].refused_connections == both[1].refused_connections

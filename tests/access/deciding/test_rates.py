"""The rate of a principal: how many of its requests are answered in a second."""

from __future__ import annotations

from rocketns.access.classes import Access
from rocketns.access.principal import Principal
from rocketns.access.rates import PrincipalRates
from tests.access.conftest import StartGuarded
from tests.access.signing import signed

BUSY = 2
POLICY = """
    [modes]
    lookup = "{mode}"
    [keys.rocketmq]
    secret = "12345678"
    [principals.clients]
    keys = ["rocketmq"]
    may = ["lookup"]
    requests_per_second = 1
"""


def taken(rates: PrincipalRates, name: str, times: int, now_ms: int, rate: int | None = 4) -> int:
    """How many of the requests get a token."""
    principal = Principal(name, frozenset({Access.LOOKUP}), requests_per_second=rate)
    return sum(rates.take(principal, now_ms) for _ in range(times))


def test_principal_has_a_burst_of_one_second_and_then_its_rate() -> None:
    rates = PrincipalRates()
    assert taken(rates, "p", 10, 1_000) == 4
    assert taken(rates, "p", 10, 1_249) == 0
    assert taken(rates, "p", 10, 1_500) == 2
    assert taken(rates, "p", 10, 60_000) == 4


def test_principals_have_buckets_of_their_own() -> None:
    rates = PrincipalRates()
    assert taken(rates, "p", 10, 1_000) == 4
    assert taken(rates, "q", 10, 1_000) == 4


def test_principal_without_a_rate_is_never_refused() -> None:
    assert taken(PrincipalRates(), "p", 1_000, 1_000, rate=None) == 1_000


def test_lookups_beyond_the_rate_are_answered_busy_though_their_signature_is_known(start_guarded: StartGuarded) -> None:
    with start_guarded(POLICY.format(mode="enforce")).connect() as client:
        first, *others = [client.request(105, signed({"topic": "T"})) for _ in range(20)]
    assert first.code != BUSY
    busy = [answer.remark or "" for answer in others if answer.code == BUSY]
    assert busy
    assert all("more requests in a second" in remark for remark in busy)


def test_rate_that_is_only_observed_refuses_nothing(start_guarded: StartGuarded) -> None:
    with start_guarded(POLICY.format(mode="observe")).connect() as client:
        assert BUSY not in [client.request(105, signed({"topic": "T"})).code for _ in range(20)]

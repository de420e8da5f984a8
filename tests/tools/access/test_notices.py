"""What an operator is told to notice in a policy."""

from __future__ import annotations

import pytest
from hypothesis import given

from rocketns.access.decision import known
from rocketns.access.policy import Policy
from rocketns.tools.access.explanation import missing
from rocketns.tools.access.notices import SHADOWS_MAX, notices
from tests.access.deciding.test_decision import CLASSES, evidence_of, policy_of, requests, whos
from tests.access.deciding.twin import Request, Who
from tests.access.reading.texts import read

ON = "[modes]\nlookup='observe'\nread='observe'\nscan='observe'\nconfig='observe'\nbroker='observe'\nadmin='observe'\n"
KEY = "[keys.k]\nsecret = '12345678'\n"


def principal(name: str, may: str = "lookup", **items: str) -> str:
    given = "".join(f"{key} = {value}\n" for key, value in items.items())
    return f"[principals.{name}]\nmay = [{', '.join(map(repr, may.split()))}]\n{given}"


def told(text: str) -> list[str]:
    policy = read(text)
    assert isinstance(policy, Policy), policy
    return notices(policy)


def test_a_policy_without_faults_has_no_notice() -> None:
    assert (
        told(ON + principal("p", networks="['10.0.0.0/24']") + principal("q", "read", networks="['10.0.0.0/8']")) == []
    )


SAID = {
    "": ["all modes are off: nothing is refused, and nothing is told",
         "there is no principal: whatever is asked in a mode other than off would be refused"],
    "[modes]\nlookup = 'observe'\ntakeover = 'off'\n" + principal("p", networks="['10.0.0.1']"): [
        "read, scan, config, broker, admin: off, whoever reaches the port may send such requests, as also all codes "
        "that no class has",
        "takeover is off: a registration that takes a live broker's address away is not told"],
    ON + KEY + principal("p", networks="['10.0.0.1']"): [
        "access keys of no principal, whose signatures give no right: 'k'"],
    ON + principal("p", networks="['0.0.0.0/0']"): ["principal p is everybody at any address (0.0.0.0/0): lookup"],
    ON + principal("p", networks="['0.0.0.0/1', '128.0.0.0/1', '::/0']"): [
        "principal p is everybody at any address (0.0.0.0/0, ::/0): lookup"],
    ON + KEY + principal("p", networks="['::/0']", keys="['k']"): [
        "principal p: ::/0 is every address, and restricts nothing"],
    ON + principal("p", certificates="[]"): ["principal p: certificates is empty, so nobody is it"],
    ON + principal("p", "", networks="['10.0.0.1']"): ["principal p: may is empty, so it may do nothing"],
}  # fmt: skip


@pytest.mark.parametrize("text", SAID, ids=range(len(SAID)))
def test_what_opens_a_policy_is_told(text: str) -> None:
    assert told(text) == SAID[text]


def test_admin_from_everywhere_is_told_with_the_servers_warning() -> None:
    warning, everybody, admin = told(ON + principal("p", "admin", networks="['0.0.0.0/0']"))
    assert warning.startswith("principal p may send admin requests from 0.0.0.0/0 without a signature")
    assert everybody.startswith("principal p is everybody")
    assert admin == "principal p: everybody at any address may send admin requests"


NARROW = {"networks": "['10.0.0.0/24']", "broker_names": "['b*']", "address_is_peer": "true"}


@pytest.mark.parametrize(
    ("wide", "without"),
    [({"networks": "['10.0.0.0/8']"}, " without narrow's broker_names, address_is_peer"),
     ({"networks": "['10.0.0.0/25', '10.0.0.128/25']", "address_is_peer": "true"}, " without narrow's broker_names"),
     ({"networks": "['10.0.0.0/24']", "broker_names": "['b*']"}, " without narrow's address_is_peer")],
)  # fmt: skip
def test_a_principal_that_shadows_another_is_told(wide: dict[str, str], without: str) -> None:
    text = ON + KEY + principal("narrow", "broker", **NARROW, keys="['k']") + principal("wide", "broker read", **wide)
    assert told(text) == [
        f"principal wide shadows narrow: whoever is narrow is wide too, and may broker{without}"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wide",
    [{"networks": "['10.0.0.0/25']"}, {"networks": "['10.0.0.0/8']", "certificates": "['*']"},
     {"networks": "['10.0.0.0/8']", "broker_names": "['c']"}, {"networks": "['2001:db8::/32']"}, {"keys": "['k']"}],
)  # fmt: skip
def test_a_principal_that_may_be_another_one_shadows_nothing(wide: dict[str, str]) -> None:
    said = told(ON + KEY + principal("narrow", "broker", **NARROW) + principal("wide", "broker", **wide))
    assert not any("shadows" in one for one in said)


def test_many_shadows_are_cut() -> None:
    said = told(ON + "".join(principal(f"p{number}", networks="['10.0.0.1']") for number in range(SHADOWS_MAX)))
    assert len(said) == SHADOWS_MAX + 1
    assert said[-1] == f"more principals are shadowed; the first {SHADOWS_MAX} are listed"


@given(whos(), requests())
def test_a_principal_is_the_sender_exactly_if_nothing_is_missing(principals: list[Who], request: Request) -> None:
    policy = policy_of(principals, dict.fromkeys(CLASSES, "enforce"))
    evidence = evidence_of(policy, request)
    assert known(policy, evidence) == [one for one in policy.principals if not list(missing(one, evidence))]

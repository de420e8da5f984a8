"""`rocketns access suggest`: the policy allows what was seen, of each sender, and nothing else; whatever peers sent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from rocketns.__main__ import main
from tests.access.deciding.twin import CLASS_OF
from tests.tools.access.refusing import Sent, decision, journal, lines, policy_of, with_admin

HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "192.168.7.9", "2001:db8::/64", "8.8.8.8")
KEYS = (None, "k1", 'k"]\n[principals.x]\nmay = ["admin"]', "k1 \u202e\x1b[2J", "ключ")
NAMES = ("broker-a", "broker-[a]*", "*", "a\n# b", "'''", '"""\\', "брокер", "\x00\x7f", "\U000e0001\u2028")
ADDRESSES = ("10.0.0.1:10911", "10.9.0.1:10911", "[2001:db8::7]:10911", "2001:db8::8:10911")
NAMESPACES = ("ORDER_TOPIC_CONFIG", "LMQ", "*", "x\r\n")
WITH_BROKER, WITH_NAMESPACE = (103, 104, 322, 904), (100, 101, 102, 219)
# 217 names its brokers in its body, which no journal has.
CODES = tuple(code for code in CLASS_OF if code != 217)


@st.composite
def requests(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Sent:
    code = draw(st.sampled_from(CODES))
    fields = {"topic": draw(st.sampled_from(names))} if code == 105 else {}
    if code in WITH_BROKER:
        fields = {"brokerName": draw(st.sampled_from(names)), "brokerAddr": draw(st.sampled_from(ADDRESSES))}
    if code in WITH_NAMESPACE:
        fields = {"namespace": draw(st.sampled_from(NAMESPACES))}
    return Sent(draw(st.sampled_from(HOSTS)), draw(st.sampled_from(KEYS)), code, tuple(fields.items()))


def suggested(seen: Iterable[Sent]) -> str:
    """What the command prints."""
    with tempfile.TemporaryDirectory() as folder, patch("sys.stdout", StringIO()) as printed:
        words = ["access", "suggest", "--journal", journal(Path(folder), lines(one.event() for one in seen))]
        assert main(words) == 0
        return printed.getvalue()


def is_covered(asked: Sent, seen: list[Sent]) -> bool:
    """Whether the same sender was seen with the class, the name, the address and the namespace, each for itself.

    Whoever signs is also the host, where it was seen without a key.
    """
    alike = [one for one in seen if one.host == asked.host]
    return any(_is_covered(asked, [one for one in alike if one.key == key]) for key in {asked.key, None})


def _is_covered(asked: Sent, seen: list[Sent]) -> bool:
    is_admin = CLASS_OF[asked.code] == "admin"
    seen = [one for one in seen if (CLASS_OF[one.code] == "admin") is is_admin]
    rights = {CLASS_OF[asked.code]}
    if asked.code in (105, 106) or (rights == {"read"} and ("namespace", "ORDER_TOPIC_CONFIG") in asked.fields):
        rights.add("broker")
    if rights.isdisjoint(CLASS_OF[one.code] for one in seen):
        return False
    pairs = {pair for one in seen for pair in one.fields}
    return all(pair in pairs for pair in asked.fields if pair[0] != "topic")


@given(st.lists(requests(), min_size=1, max_size=8), st.lists(requests(), max_size=8))
def test_what_was_seen_is_allowed_and_nothing_else(seen: list[Sent], others: list[Sent]) -> None:
    text = suggested(seen)
    policy = policy_of(text)
    ordinary = [one for one in seen if CLASS_OF[one.code] != "admin"]
    for one in (*seen, *others):
        assert decision(policy, one).is_refused is not is_covered(one, ordinary), text


@given(st.lists(requests(), min_size=1, max_size=8), st.lists(requests(), max_size=8))
def test_admin_requests_are_allowed_once_an_operator_says_so(seen: list[Sent], others: list[Sent]) -> None:
    text = suggested(seen)
    policy = policy_of(with_admin(text))
    for one in (*seen, *others):
        assert decision(policy, one).is_refused is not is_covered(one, seen), text


@given(st.lists(requests(), min_size=1, max_size=8))
def test_another_host_name_or_class_is_refused(seen: list[Sent]) -> None:
    policy = policy_of(with_admin(suggested(seen)))
    for one in seen:
        assert decision(policy, Sent("10.0.0.77", one.key, one.code, one.fields)).is_refused
        if one.code in WITH_BROKER:
            fields = dict(one.fields) | {"brokerName": "another"}
            assert decision(policy, Sent(one.host, one.key, one.code, tuple(fields.items()))).is_refused
    for host in {one.host for one in seen if all(CLASS_OF[other.code] != "config" for other in seen)}:
        assert decision(policy, Sent(host, None, 319)).is_refused


hostile = st.text(st.characters(codec=None, categories=None), max_size=300)  # also lone surrogates


@given(st.lists(st.tuples(hostile, st.none() | hostile, hostile, hostile), min_size=1, max_size=6))
def test_no_name_breaks_out_of_its_quotes_or_of_a_comment(names: list[tuple[str, str | None, str, str]]) -> None:
    """All lines are as the writer makes them, no character controls a terminal, and nobody else is let in."""
    seen = [Sent("10.0.0.1", key, 103, (("brokerName", broker), ("brokerAddr", address)))
            for _, key, broker, address in names]  # fmt: skip
    seen += [Sent(host, key, 100, (("namespace", broker),)) for host, key, broker, _ in names]
    text = suggested(seen)
    assert text.replace("\n", "").isprintable()
    policy = policy_of(text)
    assert {str(network) for one in policy.principals for network in one.networks} <= {"10.0.0.1/32"}
    assert decision(policy, Sent("10.0.0.2", None, 105)).is_refused
    assert not any("admin" in one.may for one in policy.principals)

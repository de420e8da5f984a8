"""`rocketns access check`: what a policy allows, what to add, and what to notice; it never shows a secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from rocketns.access.decision import principals_of
from rocketns.access.policy_file import read_policy
from rocketns.tools.access.explanation import Explanation, explained, missing
from rocketns.tools.access.notices import notices
from rocketns.tools.access.question import question_of
from tests.access.signing import KEY, SECRET, VECTORS
from tests.access.test_decision import CLASSES, Request, Who, evidence_of, policy_of, requests, whos
from tests.support.policies import whole
from tests.tools.conftest import Run

POLICY = f"""
secrets = "keys.txt"
[modes]
lookup = "observe"
broker = "enforce"
admin = "enforce"
[keys.{KEY}]
secret = "{SECRET}"
[principals.brokers]
networks = ["10.0.0.0/24"]
keys = ["{KEY}"]
may = ["broker"]
broker_names = ["broker-*"]
addresses = ["10.0.0.0/24"]
[principals.clients]
networks = ["10.0.0.0/16"]
may = ["lookup", "read"]
kv_namespaces = ["a"]
[principals.ops]
certificates = ["CN=ops*"]
may = ["admin"]
"""
Check = Callable[..., Explanation]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "keys.txt").write_text("other 1234567890\n", "utf-8")
    file = tmp_path / "policy.toml"
    file.write_text(whole(POLICY), "utf-8")
    return str(file)


@pytest.fixture
def check(policy: str) -> Check:
    """What is said of a request."""
    read = read_policy(policy, whole(POLICY), lambda _path: "other 1234567890\n")
    return lambda *words: explained(read, question_of(words))


def test_a_policy_is_summarised_for_people(access: Run, policy: str) -> None:
    status, shown, _ = access("check", policy)
    lines = shown.splitlines()
    assert status == 0
    assert lines[:3] == ["CLASS     MODE", "lookup    observe", "read      off"]
    assert f"brokers    networks 10.0.0.0/24 and keys {KEY}  broker" in shown
    assert "broker_names broker-*; addresses 10.0.0.0/24" in shown
    assert "notice: access keys of no principal, whose signatures give no right: 'other'" in lines


@pytest.mark.parametrize("words", [[], ["code=103", f"key={KEY}"], ["code=105", f"AccessKey={KEY}"]])
def test_no_secret_is_shown(access: Run, policy: str, words: list[str]) -> None:
    shown = "".join(access("check", policy, *words)[1:])
    assert SECRET not in shown
    assert "1234567890" not in shown


@pytest.mark.parametrize("words", ["code=103 key=x AccessKey=y", "topic=x", "code=-1", "code=105 code=106",
                                   "code=105 from=host", "code=105 =x", "code=105 body=@nowhere"])  # fmt: skip
def test_words_that_are_no_request_end_with_2(access: Run, policy: str, words: str) -> None:
    status, shown, error = access("check", policy, *words.split())
    assert (status, shown) == (2, "")
    assert error.startswith("rocketns access check: ")


BROKER = ("from=10.0.0.1", f"key={KEY}", "brokerName=broker-a", "brokerAddr=10.0.0.1:10911")
CASES: list[tuple[tuple[str, ...], int, str, str | None, str | None, str]] = [
    (("code=103", *BROKER), 0, "allowed", None, "brokers", ""),
    (("code=REGISTER_BROKER", *BROKER), 0, "allowed", None, "brokers", ""),
    (("code=105", "from=10.0.7.1"), 0, "allowed", None, "clients", ""),
    (("code=105", "from=[2001:db8::1]:7"), 1, "would be refused", "no_evidence", None, 'add "2001:db8::1" to networks'),
    (("code=105",), 1, "would be refused", "no_evidence", None, "add its address to networks"),
    (("code=206",), 0, "allowed", "no_evidence", None, "add its address to networks"),
    (("code=103", *BROKER[1:]), 1, "refused", "key_alone", None, f"add the access key '{KEY}' to keys"),
    (("code=103", "from=10.0.0.1", "brokerName=b"), 1, "refused", "not_granted", "clients", 'add "broker" to may'),
    (("code=103", *BROKER[:2], "brokerName=b"), 1, "refused", "broker_name", "brokers", "add 'b' to broker_names"),
    (("code=103", *BROKER[:3], "brokerAddr=10.0.1.1:1"), 1, "refused", "broker_address", "brokers",
     'add "10.0.1.1" to addresses of the principal brokers'),
    (("code=103", *BROKER[:3], "brokerAddr=host:1"), 1, "refused", "broker_address", "brokers",
     "let the broker announce an IP address"),
    (("code=101", "from=10.0.0.1", "namespace=b"), 0, "allowed", "kv_namespace", "clients", "add 'b' to kv_namespaces"),
    (("code=318", "certificate=CN=ops1", "certificate=x"), 0, "allowed", None, "ops", ""),
    (("code=318", "from=10.0.0.1"), 1, "refused", "not_granted", "clients",
     "Or let it be one of those who may: ops, missing: certificates: none with such a name was shown"),
    (("code=318", "key=nobody"), 1, "refused", "unknown_key", None, "give the secret of 'nobody' in keys"),
    (("code=318", f"AccessKey={KEY}", "Signature=x"), 1, "refused", "wrong_signature", None, "the same secret of"),
    (("code=905", "from=10.0.0.1"), 1, "refused", "no_class", "clients", "nobody may send it"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "outcome", "reason", "principal", "to_allow"), CASES)
def test_a_decision_is_explained(
    check: Check, access: Run, policy: str, words: tuple[str, ...], status: int, outcome: str, reason: str | None,
    principal: str | None, to_allow: str,
) -> None:  # fmt: skip
    found = check(*words)
    who = found.decision.principal
    assert (found.outcome, found.decision.reason, who and who.name) == (outcome, reason, principal)
    assert to_allow in (found.to_allow() or "")
    said = access("check", policy, *words)
    assert (said[0], f"decision    {outcome}" in said[1]) == (status, True)


@pytest.mark.parametrize("vector", [one for one in VECTORS if one.name in ("V1", "V5", "V6", "V16, wipe")],
                         ids=lambda one: one.name)  # fmt: skip
def test_a_signature_is_verified_with_the_secret(check: Check, tmp_path: Path, vector: Any) -> None:
    body = tmp_path / "body"
    body.write_bytes(vector.body or b"")
    fields = [f"{name}={value}" for name, value in vector.fields.items()]
    words = [f"code={vector.code}", "from=10.0.0.9", f"AccessKey={KEY}", f"Signature={vector.signature}", *fields]
    assert check(*words, f"body=@{body}").principals[0][:2] == ("brokers", True)
    assert check(*words, "body=other").principals[0][2] == [f"keys: the signature of '{KEY}' is wrong"]


def test_what_a_policy_has_cannot_control_a_terminal(access: Run, policy: str) -> None:
    text = '[principals."a\\u001b[2J\\nb"]\nnetworks = ["10.0.0.1"]\nmay = ["lookup"]'
    Path(policy).write_text(whole(text), "utf-8")
    for words in ([], ["code=105", "from=10.0.0.1", "topic=\x1b[2J"]):
        shown = access("check", policy, *words)[1]
        assert "\x1b" not in shown
        assert "a\\x1b[2J\\nb" in shown


ALL_ON = "[modes]\n" + "".join(f"{name} = 'observe'\n" for name in CLASSES)
K = "[keys.k]\nsecret = '12345678'\n"


def principal(name: str, may: str = "lookup", **items: str) -> str:
    given = "".join(f"{key} = {value}\n" for key, value in items.items())
    return f"[principals.{name}]\nmay = [{', '.join(map(repr, may.split()))}]\n{given}"


def told(text: str) -> list[str]:
    return notices(read_policy("policy.toml", whole(text), lambda _path: ""))


SAID = {
    "": ["all modes are off: nothing is refused, and nothing is told",
         "there is no principal: whatever is asked in a mode other than off would be refused"],
    "[modes]\nlookup = 'observe'\ntakeover = 'off'\n" + principal("p", networks="['10.0.0.1']"): [
        "read, scan, config, broker, admin: off, whoever reaches the port may send such requests, as also all codes "
        "that no class has",
        "takeover is off: a registration that takes a live broker's address away is not told"],
    ALL_ON + principal("p", networks="['0.0.0.0/1', '128.0.0.0/1', '::/0']"): [
        "principal p is everybody at any address (0.0.0.0/0, ::/0): lookup"],
    ALL_ON + K + principal("p", networks="['::/0']", keys="['k']"): [
        "principal p: ::/0 is every address, and restricts nothing"],
    ALL_ON + principal("p", networks="['10.0.0.0/8']", brokers_max="3") + principal("q", networks="['10.1.0.0/16']")
    + principal("r", "read", networks="['10.2.0.0/16']"): [
        "principal p: every program in 10.0.0.0/8 shares its brokers_max. So r for lookup: no other right"],
    ALL_ON + K + principal("p", keys="['k']", requests_per_second="3"): [
        "principal p has requests_per_second by signature alone: who sees a signed request can send it again until the "
        "rate is used up. Add networks or certificates to it"],
    ALL_ON + principal("p", certificates="[]"): ["principal p: certificates is empty, so nobody is it"],
}  # fmt: skip


@pytest.mark.parametrize("text", SAID, ids=range(len(SAID)))
def test_what_opens_a_policy_is_told(text: str) -> None:
    assert told(text) == SAID[text]


@given(whos(), requests())
def test_a_principal_is_the_sender_exactly_if_nothing_is_missing(principals: list[Who], request: Request) -> None:
    policy = policy_of(principals, dict.fromkeys(CLASSES, "enforce"))
    evidence = evidence_of(policy, request)
    assert principals_of(policy, evidence) == [one for one in policy.principals if not list(missing(one, evidence))]

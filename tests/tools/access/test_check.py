"""`rocketns access check`: what a policy allows, why a request is refused, and what to add; it never shows a secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.access.vectors import KEY, SECRET, VECTORS
from tests.tools.access.conftest import Run

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
Check = Callable[..., dict[str, Any]]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "keys.txt").write_text("other 1234567890\n", "utf-8")
    file = tmp_path / "policy.toml"
    file.write_text(POLICY, "utf-8")
    return str(file)


@pytest.fixture
def check(access: Run, policy: str) -> Check:
    """What is said of a request, with the exit status."""

    def run(*words: str) -> dict[str, Any]:
        status, shown, _ = access("check", policy, *words, "--json")
        found: dict[str, Any] = json.loads(shown)
        return found | {"status": status}

    return run


def test_a_policy_is_summarised_for_people(access: Run, policy: str) -> None:
    status, shown, _ = access("check", policy)
    lines = shown.splitlines()
    assert status == 0
    assert lines[:3] == ["CLASS     MODE", "lookup    observe", "read      off"]
    assert f"brokers    networks 10.0.0.0/24 and keys {KEY}  broker" in shown
    assert "broker_names broker-*; addresses 10.0.0.0/24" in shown
    assert "notice: access keys of no principal, whose signatures give no right: 'other'" in lines


def test_a_policy_is_summarised_for_programs(check: Check) -> None:
    found = check()
    assert (found["status"], found["modes"]["takeover"], found["keys"]) == (0, "observe", ["other", KEY])
    clients = found["principals"][1]
    assert (clients["name"], clients["may"], clients["keys"]) == ("clients", ["lookup", "read"], [])


@pytest.mark.parametrize("words", [[], ["code=105"], ["code=103", f"key={KEY}"], ["code=105", f"AccessKey={KEY}"]])
def test_no_secret_is_shown(access: Run, policy: str, words: list[str]) -> None:
    for more in ([], ["--json"]):
        shown = "".join(access("check", policy, *words, *more)[1:])
        assert SECRET not in shown
        assert "1234567890" not in shown


@pytest.mark.parametrize(
    ("text", "why"),
    [("[modes]\nlookup = 'x'", "policy.toml, line 2: modes.lookup: 'x' must be one of off, observe, enforce"),
     ("secrets = 'nowhere'", "nowhere: it cannot be read: No such file or directory")],
)  # fmt: skip
def test_a_wrong_policy_is_refused_as_by_the_server(access: Run, policy: str, text: str, why: str) -> None:
    Path(policy).write_text(text, "utf-8")
    status, shown, error = access("check", policy)
    assert (status, shown) == (1, "")
    assert why in error


@pytest.mark.parametrize("words", ["code=103 key=x AccessKey=y", "topic=x", "code=x", "code=-1", "code=105 code=106",
                                   "code=105 from=host", "code=105 word", "code=105 =x", "code=105 body=@nowhere",
                                   "code=99999999999"])  # fmt: skip
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
    assert (found["status"], found["outcome"], found["reason"], found["principal"]) == (
        status, outcome, reason, principal)  # fmt: skip
    assert to_allow in (found["toAllow"] or "")
    said = access("check", policy, *words)
    assert (said[0], f"decision    {outcome}" in said[1]) == (status, True)


def test_each_principal_says_what_is_missing(check: Check) -> None:
    found = check("code=103", "from=10.1.0.1", f"key={KEY}")
    assert {one["name"]: one["why"] for one in found["principals"]} == {
        "brokers": ["networks: 10.1.0.1 is not in them"], "clients": ["networks: 10.1.0.1 is not in them"],
        "ops": ["certificates: none with such a name was shown"],
    }  # fmt: skip


@pytest.mark.parametrize("vector", [one for one in VECTORS if one.name in ("V1", "V5", "V6", "V16, wipe")],
                         ids=lambda one: one.name)  # fmt: skip
def test_a_signature_is_verified_with_the_secret(check: Check, tmp_path: Path, vector: Any) -> None:
    body = tmp_path / "body"
    body.write_bytes(vector.body or b"")
    fields = [f"{name}={value}" for name, value in vector.fields.items()]
    words = [f"code={vector.code}", "from=10.0.0.9", f"AccessKey={KEY}", f"Signature={vector.signature}", *fields]
    brokers = check(*words, f"body=@{body}")["principals"][0]
    assert (brokers["name"], brokers["isSender"]) == ("brokers", True)
    assert check(*words, "body=other")["principals"][0]["why"] == [f"keys: the signature of '{KEY}' is wrong"]


def test_a_body_names_the_brokers_of_a_topic(check: Check) -> None:
    body = 'body={"queueDatas":[{"brokerName":"x"}]}'
    found = check("code=217", *BROKER[:2], body)
    assert (found["reason"], found["toAllow"]) == ("broker_name", "add 'x' to broker_names of the principal brokers")


def test_what_a_policy_has_cannot_control_a_terminal(access: Run, policy: str) -> None:
    Path(policy).write_text('[principals."a\\u001b[2J\\nb"]\nnetworks = ["10.0.0.1"]\nmay = ["lookup"]', "utf-8")
    for words in ([], ["code=105", "from=10.0.0.1", "topic=\x1b[2J"]):
        shown = access("check", policy, *words)[1]
        assert "\x1b" not in shown
        assert "a\\x1b[2J\\nb" in shown

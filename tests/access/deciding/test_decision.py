"""The decision: what a plain twin of it says; and nothing is allowed that no principal allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.access import standing
from rocketns.access.asked import Asked, asked_of
from rocketns.access.classes import MODES, RIGHTS, Access, Mode
from rocketns.access.decision import Decision, Evidence, Reason, decide, known
from rocketns.access.policy import OPEN, Policy
from rocketns.access.reading.policy_file import read_policy
from rocketns.access.signing.signature import Signed
from rocketns.addresses import literal
from rocketns.processor.requests import REQUESTS, request_of
from rocketns.protocol.command import RemotingCommand
from tests.access.deciding.twin import CLASS_OF, CLASSES, Request, Who, is_allowed, is_who

ENFORCED = dict.fromkeys(RIGHTS, Mode.ENFORCE)
CODES = (*CLASS_OF, 0, 905, 1001, 1018, 9999)
KEYS = ("k1", "k2")
NAMESPACES = ("ORDER_TOPIC_CONFIG", "LMQ", "other")
HOSTS = ("10.0.0.1", "10.0.1.7", "192.168.7.9", "2001:db8::1")
NETWORKS = ("10.0.0.0/24", "10.0.0.0/8", "10.0.1.7", "0.0.0.0/0", "2001:db8::/32", "::/0")
NAMES = ("broker-a", "broker-b", "Broker-a", "x")
GLOBS = ("broker-*", "broker-a", "*", "x?", "[bx]*")
PEERS = ("CN=one", "one.example.org", "CN=two")


def some(values: tuple[str, ...], *, at_least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), max_size=3, min_size=at_least, unique=True)


def whos() -> st.SearchStrategy[list[Who]]:
    one = st.builds(
        Who, st.sampled_from(["p1", "p2", "p3", "p4"]), some(CLASSES),
        st.none() | some(NETWORKS), st.none() | some(KEYS),
        st.none() | some(("CN=*", "*.example.org", "CN=two")), st.none() | some(GLOBS), st.none() | some(NETWORKS),
        st.booleans(), st.none() | some(("ORDER_TOPIC_CONFIG", "L*", "*")),
    ).filter(lambda who: bool(who.networks or who.keys or who.certificates is not None))  # fmt: skip
    return st.lists(one, max_size=4, unique_by=lambda who: who.name)


def requests() -> st.SearchStrategy[Request]:
    return st.builds(
        Request, st.sampled_from(CODES), st.none() | st.sampled_from(HOSTS), st.none() | st.sampled_from(KEYS),
        some(PEERS), some(NAMES), st.none() | st.sampled_from([f"{host}:10911" for host in (*HOSTS, "broker-a.local")]),
        st.none() | st.sampled_from(NAMESPACES), some(NAMES),
    )  # fmt: skip


def modes_of(modes: dict[str, str]) -> dict[Access, Mode]:
    return {Access(name): MODES[word] for name, word in modes.items()}


def policy_of(principals: list[Who], modes: dict[str, str]) -> Policy:
    """By the reader, as a file would be."""
    lines = ["[modes]", *(f"{name} = '{word}'" for name, word in modes.items())]
    lines += [f"[keys.{key}]\nsecret = 'secret of {key}'" for key in KEYS]
    for who in principals:
        lines.append(f"[principals.{who.name}]")
        given = {name: value for name, value in vars(who).items() if name != "name" and value is not None}
        lines += [
            f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in given.items()
        ]
    if not principals:  # without one, a file that enforces is refused
        return Policy(modes=modes_of(modes))
    return read_policy("policy.toml", "\n".join(lines), lambda path: path)


def evidence_of(policy: Policy, request: Request) -> Evidence:
    address = None if request.host is None else literal(request.host)
    of_peer = standing.evidence_of(policy, address, request.certificates)
    return replace(of_peer, key=request.key, signed=Signed.NOT if request.key is None else Signed.RIGHT)


def asked_for(request: Request) -> Asked:
    access = Access(CLASS_OF.get(request.code, "off"))
    return Asked(request.code, access, lambda: request.brokers, request.broker_address, request.namespace,
                 lambda: request.held_by)  # fmt: skip


def decision(principals: list[Who], modes: dict[str, str], request: Request) -> Decision:
    policy = policy_of(principals, modes)
    return decide(policy, asked_for(request), evidence_of(policy, request))


@given(
    whos(), st.fixed_dictionaries(dict.fromkeys(CLASSES, st.sampled_from(["off", "observe", "enforce"]))), requests()
)
def test_the_decision_is_that_of_its_twin(principals: list[Who], modes: dict[str, str], request: Request) -> None:
    assert decision(principals, modes, request).is_refused is not is_allowed(principals, modes, request)


@given(whos(), requests())
def test_observing_says_what_enforcing_refuses(principals: list[Who], request: Request) -> None:
    policy = policy_of(principals, dict.fromkeys(CLASSES, "observe"))
    asked_now, evidence = asked_for(request), evidence_of(policy, request)
    enforced, observed = (decide(one, asked_now, evidence) for one in (replace(policy, modes=ENFORCED), policy))
    assert replace(enforced, mode=Mode.OBSERVE) == observed
    assert not observed.is_refused


@given(whos(), requests())
def test_who_is_allowed_something_is_a_principal_with_that_right(principals: list[Who], request: Request) -> None:
    made = decision(principals, dict.fromkeys(CLASSES, "enforce"), request)
    if made.reason is None:
        assert made.principal is not None
        who = next(who for who in principals if who.name == made.principal.name)
        assert is_who(who, request)
        assert {CLASS_OF[request.code], "broker"} & set(who.may)


@given(whos(), st.sampled_from([Signed.NOT, Signed.UNKNOWN_KEY, Signed.WRONG]), st.sampled_from(KEYS), requests())
def test_a_key_without_a_right_signature_is_no_evidence(
    principals: list[Who], signed: Signed, key: str, request: Request
) -> None:
    policy = policy_of(principals, dict.fromkeys(CLASSES, "enforce"))
    evidence = replace(evidence_of(policy, replace(request, key=None)), key=key, signed=signed)
    assert not any(one.keys for one in known(policy, evidence))


@pytest.mark.parametrize("code", CODES)
def test_nobody_may_do_anything_without_a_principal(code: int) -> None:
    """Whatever is known of the peer: with ENFORCE, nothing is allowed by default."""
    for host, key, names in product((None, *HOSTS), (None, *KEYS), ([], list(PEERS))):
        request = Request(code, host, key, names, [], None, "ORDER_TOPIC_CONFIG")
        made = decide(Policy(modes=ENFORCED), asked_for(request), evidence_of(Policy(modes=ENFORCED), request))
        assert made.is_refused
        nobody = Reason.NO_EVIDENCE if key is None else Reason.KEY_ALONE
        assert made.reason is (nobody if code in CLASS_OF else Reason.NO_CLASS)


@pytest.mark.parametrize("code", sorted({*REQUESTS, 905, 1001, 9999}))
def test_a_principal_without_rights_may_do_nothing(code: int) -> None:
    nobody = Who("nobody", [], ["0.0.0.0/0"], None, None)
    assert decision([nobody], dict.fromkeys(CLASSES, "enforce"), Request(code, "10.0.0.1")).is_refused


def test_without_a_policy_nothing_is_refused() -> None:
    assert not any(decide(OPEN, asked_for(Request(code)), Evidence(None)).is_refused for code in CODES)


@pytest.mark.parametrize("code", CODES)
def test_the_table_of_requests_has_the_classes_of_the_twin(code: int) -> None:
    assert request_of(code).access.value == CLASS_OF.get(code, "off")


def asked(code: int, body: bytes | None = None, **given: str) -> Asked:
    command = RemotingCommand(code, 513, 1, 0, dict(given), body)
    return asked_of(command, request_of(code).access)


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_a_broker_asks_for_its_name_and_its_address(code: int) -> None:
    made = asked(code, brokerName="a", brokerAddr="10.0.0.1:1", namespace="n")
    assert (made.brokers(), made.address, made.namespace) == (["a"], "10.0.0.1:1", None)
    assert (asked(code).brokers(), asked(code).address) == ([""], "")


def test_a_topic_is_asked_for_the_brokers_of_its_body() -> None:
    body = b'{"queueDatas":[{"brokerName":"a"},{"brokerName":"b"},{}]}'
    assert asked(217, body, brokerName="c").brokers() == ["a", "b", ""]
    assert asked(217, b"{").brokers() == []


@pytest.mark.parametrize("code", [100, 101, 102, 219])
def test_kv_requests_ask_for_their_namespace(code: int) -> None:
    assert asked(code, namespace="n").namespace == "n"
    assert asked(code).namespace == ""


REASONS: list[tuple[Reason, dict[str, Any], Request]] = [
    (Reason.NOT_GRANTED, {"may": ["lookup"]}, Request(319, "10.0.0.1")),
    (Reason.NAMESPACE, {"may": ["read"], "kv_namespaces": ["a"]}, Request(101, "10.0.0.1", namespace="b")),
    (Reason.BROKER_NAME, {"may": ["broker"], "broker_names": ["a"]}, Request(904, "10.0.0.1", brokers=["b"])),
    (Reason.BROKER_ADDRESS, {"may": ["broker"], "addresses": ["10.0.0.2"]},
     Request(904, "10.0.0.1", broker_address="10.0.0.1:1")),
    (Reason.NOT_THE_PEER, {"may": ["broker"], "address_is_peer": True},
     Request(904, "10.0.0.1", broker_address="10.0.0.2:1")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "given", "request_"), REASONS, ids=[str(one[0]) for one in REASONS])
def test_a_refusal_says_what_is_missing(reason: Reason, given: dict[str, Any], request_: Request) -> None:
    who = Who("p1", networks=["10.0.0.1"], **given)
    made = decision([who, Who("p2", [], ["10.0.0.1"])], dict.fromkeys(CLASSES, "enforce"), request_)
    assert (made.reason, made.principal and made.principal.name) == (reason, "p1")

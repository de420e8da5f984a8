"""The decision once more, written from the rules and not from the code: plain data, one rule after the other.

A principal is known by all the kinds of evidence that it names. One that is known, has the right and no restriction
against it allows the request. Nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.access import decision as decision_module
from rocketns.access.classes import RIGHTS, Access, AccessRequest, Mode
from rocketns.access.decision import Decision, Evidence, RefusalReason, decide, principals_of
from rocketns.access.policy import OPEN, Policy
from rocketns.access.policy_file import read_policy
from rocketns.access.principal import CertificateIndex, Globs, Principal
from rocketns.access.signature import Signed
from rocketns.addresses import literal
from rocketns.processor.requests import request_of
from tests.support.policies import whole

CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
CLASS_OF = {
    105: "lookup",
    101: "read", 106: "read", 206: "read", 219: "read", 304: "read", 21070: "read",
    224: "scan", 311: "scan", 312: "scan", 313: "scan",
    319: "config",
    103: "broker", 104: "broker", 217: "broker", 322: "broker", 901: "broker", 904: "broker",
    100: "admin", 102: "admin", 205: "admin", 216: "admin", 318: "admin", 327: "admin",
}  # fmt: skip


@dataclass
class Who:
    """A principal, with lists of texts as in the file. None: it is not in the file."""

    name: str
    may: list[str]
    networks: list[str] | None = None
    keys: list[str] | None = None
    certificates: list[str] | None = None
    broker_names: list[str] | None = None
    addresses: list[str] | None = None
    address_is_peer: bool = False
    kv_namespaces: list[str] | None = None


@dataclass
class Request:
    """A request with what is known of its sender. ``key``: that of a right signature. ``held_by``: the broker groups
    that have the address that it announces.
    """

    code: int
    host: str | None = None
    key: str | None = None
    certificates: list[str] = field(default_factory=list)
    brokers: list[str] = field(default_factory=list)
    broker_address: str | None = None
    namespace: str | None = None
    held_by: list[str] = field(default_factory=list)


def is_allowed(whos: list[Who], modes: dict[str, str], request: Request) -> bool:
    """Whether the request is carried out."""
    of_class = CLASS_OF.get(request.code)
    if modes.get(of_class or "admin", "off") != "enforce":
        return True
    return of_class is not None and any(is_who(who, request) and may(who, request, of_class) for who in whos)


def is_who(who: Who, request: Request) -> bool:
    """Whether the sender is this principal."""
    evidence = []
    if who.networks:
        evidence.append(is_in(who.networks, request.host))
    if who.keys:
        evidence.append(request.key in who.keys)
    if who.certificates is not None:
        evidence.append(any(matches(who.certificates, one) for one in request.certificates))
    return evidence != [] and all(evidence)


def may(who: Who, request: Request, of_class: str) -> bool:
    """Whether the principal's rights are enough. Brokers need no other right for what they send."""
    rights = {of_class}
    if request.code in (105, 106) or (of_class == "read" and request.namespace == "ORDER_TOPIC_CONFIG"):
        rights.add("broker")
    if rights.isdisjoint(who.may):
        return False
    if request.namespace is not None and not is_one_of(who.kv_namespaces, request.namespace):
        return False
    if not all(is_one_of(who.broker_names, name) for name in request.brokers):
        return False
    if request.broker_address is None:
        return True
    host = request.broker_address.rpartition(":")[0]
    if host != request.host and not all(is_one_of(who.broker_names, name) for name in request.held_by):
        return False
    if who.addresses is not None and not is_in(who.addresses, host):
        return False
    return not who.address_is_peer or host == request.host


def is_in(networks: list[str], host: str | None) -> bool:
    """Whether the address, of the same family, is in one of them."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return False
    return any(address in ip_network(network) for network in networks)


def is_one_of(globs: list[str] | None, text: str) -> bool:
    """Without a list there is no restriction."""
    return globs is None or matches(globs, text)


def matches(globs: list[str], text: str) -> bool:
    """Capitals and small letters differ."""
    return any(fnmatchcase(text, glob) for glob in globs)


@pytest.mark.parametrize(
    ("glob", "matching"),
    [
        ("ops-*.acme.com", ["ops-1.acme.com"]), ("ops-*acme.com", ["ops-1.acme.com"]),
        ("ops-*@acme.com", ["ops-1@acme.com"]), ("*@*", ["ops-1@acme.com", "ops-1@x.acme.com"]),
        ("spiffe:*", ["spiffe:ops-1.acme.com"]), ("CN=ops-*.acme.com", ["CN=ops-1.acme.com"]),
        ("*.acme.com", ["ops-1.acme.com"]),
    ],
)  # fmt: skip
def test_a_pattern_matches_names_of_its_kind_only(glob: str, matching: list[str]) -> None:
    """Whoever gets a certificate for a mail address or a URI chooses most of it."""
    names = ("ops-1.acme.com", "ops-1@acme.com", "ops-1@x.acme.com", "ops-1://x.acme.com", "spiffe:ops-1.acme.com",
             "CN=ops-1.acme.com")  # fmt: skip
    index = CertificateIndex([Principal("p", frozenset(), certificates=Globs([glob]))])
    assert [name for name in names if index.of([name])] == matching
    assert all(CertificateIndex([Principal("p", frozenset(), certificates=Globs(["*"]))]).of([name]) for name in names)


# The decision: what a plain twin of it says; and nothing is allowed that no principal allows.

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
        return Policy(modes={Access(name): Mode(word) for name, word in modes.items()})
    return read_policy("policy.toml", whole("\n".join(lines)), lambda path: path)


def evidence_of(policy: Policy, request: Request) -> Evidence:
    address = None if request.host is None else literal(request.host)
    of_peer = decision_module.evidence_of(policy, address, request.certificates)
    return replace(of_peer, key=request.key, signed=Signed.NOT if request.key is None else Signed.RIGHT)


def asked_for(request: Request) -> AccessRequest:
    access = Access(CLASS_OF.get(request.code, "off"))
    return AccessRequest(request.code, access, lambda: request.brokers, request.broker_address, request.namespace,
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


@given(whos(), st.sampled_from([Signed.NOT, Signed.UNKNOWN_KEY, Signed.WRONG]), st.sampled_from(KEYS), requests())
def test_a_key_without_a_right_signature_is_no_evidence(
    principals: list[Who], signed: Signed, key: str, request: Request
) -> None:
    policy = policy_of(principals, dict.fromkeys(CLASSES, "enforce"))
    evidence = replace(evidence_of(policy, replace(request, key=None)), key=key, signed=signed)
    assert not any(one.keys for one in principals_of(policy, evidence))


@given(requests())
def test_nobody_may_do_anything_without_a_principal(request: Request) -> None:
    """Whatever is known of the peer: with ENFORCE, nothing is allowed by default."""
    policy = Policy(modes=ENFORCED)
    made = decide(policy, asked_for(request), evidence_of(policy, request))
    nobody = RefusalReason.NO_EVIDENCE if request.key is None else RefusalReason.KEY_ALONE
    assert request_of(request.code).access.value == CLASS_OF.get(request.code, "off")
    assert made.is_refused
    assert made.reason is (nobody if request.code in CLASS_OF else RefusalReason.NO_CLASS)


def test_without_a_policy_nothing_is_refused() -> None:
    assert not any(decide(OPEN, asked_for(Request(code)), Evidence(None)).is_refused for code in CODES)


REASONS: list[tuple[RefusalReason, dict[str, Any], Request]] = [
    (RefusalReason.NOT_GRANTED, {"may": ["lookup"]}, Request(319, "10.0.0.1")),
    (RefusalReason.NAMESPACE, {"may": ["read"], "kv_namespaces": ["a"]}, Request(101, "10.0.0.1", namespace="b")),
    (RefusalReason.BROKER_NAME, {"may": ["broker"], "broker_names": ["a"]}, Request(904, "10.0.0.1", brokers=["b"])),
    (RefusalReason.BROKER_ADDRESS, {"may": ["broker"], "addresses": ["10.0.0.2"]},
     Request(904, "10.0.0.1", broker_address="10.0.0.1:1")),
    (RefusalReason.NOT_THE_PEER, {"may": ["broker"], "address_is_peer": True},
     Request(904, "10.0.0.1", broker_address="10.0.0.2:1")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "given", "request_"), REASONS, ids=[str(one[0]) for one in REASONS])
def test_a_refusal_says_what_is_missing(reason: RefusalReason, given: dict[str, Any], request_: Request) -> None:
    who = Who("p1", networks=["10.0.0.1"], **given)
    made = decision([who, Who("p2", [], ["10.0.0.1"])], dict.fromkeys(CLASSES, "enforce"), request_)
    assert (made.reason, made.principal and made.principal.name) == (reason, "p1")

"""The decision: may a peer of which this is known ask for this? A pure function; nothing is allowed by default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rocketns.access.asked import Asked
from rocketns.access.classes import Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import Principal, contains
from rocketns.access.signing.signature import Signed
from rocketns.addresses import Address, is_host_of, literal, split


class Reason(StrEnum):
    """Why a request is refused. From the first to the last more is known of the peer."""

    NO_EVIDENCE = "no_evidence"
    UNKNOWN_KEY = "unknown_key"
    WRONG_SIGNATURE = "wrong_signature"
    KEY_ALONE = "key_alone"
    NO_CLASS = "no_class"
    NOT_GRANTED = "not_granted"
    NAMESPACE = "kv_namespace"
    BROKER_NAME = "broker_name"
    BROKER_ADDRESS = "broker_address"
    NOT_THE_PEER = "address_is_not_peer"
    TAKEOVER = "takeover"
    RATE = "requests_per_second"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a peer: its address, the principals whose networks it is in and whose certificate it showed
    (by their names), and the key by which the request is signed.
    """

    address: Address | None
    by_network: frozenset[str] = frozenset()
    by_certificate: frozenset[str] = frozenset()
    key: str | None = None
    signed: Signed = Signed.NOT


@dataclass(frozen=True, slots=True)
class Decision:
    """``reason`` is None where the request is allowed. ``principals``: all by whose right, in the policy's order; of
    one that is refused, the one whose right is nearest, if there is any.

    ``mode`` is that of the request's class: what is refused is refused only with ENFORCE.
    """

    mode: Mode
    reason: Reason | None = None
    principals: tuple[Principal, ...] = ()

    @property
    def principal(self) -> Principal | None:
        """The first one."""
        return self.principals[0] if self.principals else None

    @property
    def is_refused(self) -> bool:
        return self.reason is not None and self.mode is Mode.ENFORCE


OFF = Decision(Mode.OFF)


def known(policy: Policy, evidence: Evidence) -> list[Principal]:
    """The principals that the peer is: all the kinds of evidence that they name are there."""
    candidates = policy.index.candidates(evidence.key, evidence.by_network, evidence.by_certificate)
    return [principal for principal in candidates if is_known(principal, evidence)]


def is_known(principal: Principal, evidence: Evidence) -> bool:
    """Whether each kind of evidence that it names is there, and it names one."""
    needs = [
        (bool(principal.networks), principal.name in evidence.by_network),
        (bool(principal.keys), evidence.signed is Signed.RIGHT and evidence.key in principal.keys),
        (principal.certificates is not None, principal.name in evidence.by_certificate),
    ]
    return any(is_named for is_named, _ in needs) and all(is_there for is_named, is_there in needs if is_named)


def decide(policy: Policy, asked: Asked, evidence: Evidence) -> Decision:
    """Refused with the reason that is nearest to a right."""
    mode = policy.mode_of(asked.access)
    if mode is Mode.OFF:
        return OFF
    return _decide(mode, asked, evidence, known(policy, evidence))


def _decide(mode: Mode, asked: Asked, evidence: Evidence, principals: list[Principal]) -> Decision:
    reasons = [why_not(principal, asked, evidence) for principal in principals]
    if None in reasons:
        able = (principal for principal, reason in zip(principals, reasons, strict=True) if reason is None)
        return Decision(mode, principals=tuple(able))
    if not reasons:
        return Decision(mode, _of_a_stranger(asked, evidence))
    nearest = max(filter(None, reasons), key=_ORDER.__getitem__)
    return Decision(mode, nearest, (principals[reasons.index(nearest)],))


_ORDER = {reason: number for number, reason in enumerate(Reason)}
_OF_SIGNATURE = {
    Signed.UNKNOWN_KEY: Reason.UNKNOWN_KEY, Signed.WRONG: Reason.WRONG_SIGNATURE, Signed.RIGHT: Reason.KEY_ALONE,
}  # fmt: skip


def _of_a_stranger(asked: Asked, evidence: Evidence) -> Reason:
    if asked.access is Access.OFF:
        return Reason.NO_CLASS
    return _OF_SIGNATURE.get(evidence.signed, Reason.NO_EVIDENCE)


def why_not(principal: Principal, asked: Asked, evidence: Evidence) -> Reason | None:
    """Why its rights do not do. None if they do."""
    if asked.access is Access.OFF:
        return Reason.NO_CLASS
    is_brokers = asked.is_for_brokers_too and Access.BROKER in principal.may
    if asked.access not in principal.may and not is_brokers:
        return Reason.NOT_GRANTED
    return _why_not_these(principal, asked, evidence)


def _why_not_these(principal: Principal, asked: Asked, evidence: Evidence) -> Reason | None:
    namespaces, names = principal.kv_namespaces, principal.broker_names
    if asked.namespace is not None and namespaces is not None and not namespaces.match(asked.namespace):
        return Reason.NAMESPACE
    if names is not None and not all(map(names.match, asked.brokers())):
        return Reason.BROKER_NAME
    return None if asked.address is None else _why_not_the_address(principal, asked, asked.address, evidence)


def _why_not_the_address(principal: Principal, asked: Asked, address: str, evidence: Evidence) -> Reason | None:
    """A request that names a group of its sender, and the address of another's broker, would change that broker's live
    entry. An address of the sender's own host is its own, whatever groups others registered with it.
    """
    names, is_at_peer = principal.broker_names, _is_at(address, evidence.address)
    if names is not None and not is_at_peer and not all(map(names.match, asked.groups())):
        return Reason.BROKER_NAME
    if principal.addresses is not None and not contains(principal.addresses, literal(split(address)[0])):
        return Reason.BROKER_ADDRESS
    return Reason.NOT_THE_PEER if principal.address_is_peer and not is_at_peer else None


def _is_at(broker_address: str, address: Address | None) -> bool:
    return address is not None and is_host_of(broker_address, str(address))


def owner_of(principals: Iterable[Principal], broker_name: str) -> Principal | None:
    """The principal that may take over addresses of the group."""
    return next((one for one in principals if one.owns is not None and one.owns.match(broker_name)), None)

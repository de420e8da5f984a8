"""The decision: may a peer of which this is known ask for this? Pure functions; nothing is allowed by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rocketns.access.classes import Access, AccessRequest, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import Principal, contains
from rocketns.access.signature import Secret, Signed, access_key_of, check
from rocketns.addresses import Address, is_host_of, literal, split
from rocketns.protocol.command import RemotingCommand


class RefusalReason(StrEnum):
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


WHY = {
    RefusalReason.NO_EVIDENCE: "the request is not signed, and nothing else says who sent it",
    RefusalReason.UNKNOWN_KEY: "its access key is not known here",
    RefusalReason.WRONG_SIGNATURE: "its signature is wrong: the secret key is another one, or the request was changed",
    RefusalReason.KEY_ALONE: "its signature is right, and not enough from this address, or without a certificate",
    RefusalReason.NO_CLASS: "nobody may send this request code",
    RefusalReason.NOT_GRANTED: "{who} may not send requests of this class",
    RefusalReason.NAMESPACE: "{who} may not use this namespace",
    RefusalReason.BROKER_NAME: "{who} may not register a broker of this name",
    RefusalReason.BROKER_ADDRESS: "{who} may not register this address",
    RefusalReason.NOT_THE_PEER: "{who} may only register the address from which the request comes",
    RefusalReason.RATE: "{who} sends more requests in a second than the policy allows",
    RefusalReason.TAKEOVER: "another live broker has this name and id, and {who} does not own the group",
}


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
    reason: RefusalReason | None = None
    principals: tuple[Principal, ...] = ()

    @property
    def principal(self) -> Principal | None:
        """The first one."""
        return self.principals[0] if self.principals else None

    @property
    def is_refused(self) -> bool:
        return self.reason is not None and self.mode is Mode.ENFORCE


OFF = Decision(Mode.OFF)


def principals_of(policy: Policy, evidence: Evidence) -> list[Principal]:
    """The principals that the peer is: all the kinds of evidence that they name are there."""
    candidates = policy.index.candidates(evidence.key, evidence.by_network, evidence.by_certificate)
    return [principal for principal in candidates if is_identified(principal, evidence)]


def is_identified(principal: Principal, evidence: Evidence) -> bool:
    """Whether each kind of evidence that it names is there, and it names one."""
    needs = [
        (bool(principal.networks), principal.name in evidence.by_network),
        (bool(principal.keys), evidence.signed is Signed.RIGHT and evidence.key in principal.keys),
        (principal.certificates is not None, principal.name in evidence.by_certificate),
    ]
    return any(is_named for is_named, _ in needs) and all(is_there for is_named, is_there in needs if is_named)


def decide(policy: Policy, asked: AccessRequest, evidence: Evidence) -> Decision:
    """Refused with the reason that is nearest to a right."""
    mode = policy.mode_of(asked.access)
    if mode is Mode.OFF:
        return OFF
    principals = principals_of(policy, evidence)
    reasons = [why_not(principal, asked, evidence) for principal in principals]
    if None in reasons:
        able = (principal for principal, reason in zip(principals, reasons, strict=True) if reason is None)
        return Decision(mode, principals=tuple(able))
    if not reasons:
        is_unknown = asked.access is Access.OFF
        reason = RefusalReason.NO_CLASS if is_unknown else _OF_SIGNATURE.get(evidence.signed, RefusalReason.NO_EVIDENCE)
        return Decision(mode, reason)
    nearest = max(filter(None, reasons), key=_ORDER.__getitem__)
    return Decision(mode, nearest, (principals[reasons.index(nearest)],))


_ORDER = {reason: number for number, reason in enumerate(RefusalReason)}
_OF_SIGNATURE = {
    Signed.UNKNOWN_KEY: RefusalReason.UNKNOWN_KEY,
    Signed.WRONG: RefusalReason.WRONG_SIGNATURE,
    Signed.RIGHT: RefusalReason.KEY_ALONE,
}


def why_not(principal: Principal, asked: AccessRequest, evidence: Evidence) -> RefusalReason | None:
    """Why its rights do not do. None if they do."""
    if asked.access is Access.OFF:
        return RefusalReason.NO_CLASS
    is_brokers = asked.is_for_brokers_too and Access.BROKER in principal.may
    if asked.access not in principal.may and not is_brokers:
        return RefusalReason.NOT_GRANTED
    return _why_not_these(principal, asked, evidence)


def _why_not_these(principal: Principal, asked: AccessRequest, evidence: Evidence) -> RefusalReason | None:
    namespaces, names = principal.kv_namespaces, principal.broker_names
    if asked.namespace is not None and namespaces is not None and not namespaces.match(asked.namespace):
        return RefusalReason.NAMESPACE
    if names is not None and not all(map(names.match, asked.brokers())):
        return RefusalReason.BROKER_NAME
    return None if asked.address is None else _why_not_the_address(principal, asked, asked.address, evidence)


def _why_not_the_address(
    principal: Principal, asked: AccessRequest, address: str, evidence: Evidence
) -> RefusalReason | None:
    """A request that names a group of its sender, and the address of another's broker, would change that broker's live
    entry. An address of the sender's own host is its own, whatever groups others registered with it.
    """
    names = principal.broker_names
    is_at_peer = evidence.address is not None and is_host_of(address, str(evidence.address))
    if names is not None and not is_at_peer and not all(map(names.match, asked.groups())):
        return RefusalReason.BROKER_NAME
    if principal.addresses is not None and not contains(principal.addresses, literal(split(address)[0])):
        return RefusalReason.BROKER_ADDRESS
    return RefusalReason.NOT_THE_PEER if principal.address_is_peer and not is_at_peer else None


def evidence_of(policy: Policy, address: Address | None, peer_names: Sequence[str]) -> Evidence:
    """What an address and the names of a certificate say of a peer."""
    return Evidence(address, policy.index.networks.of(address), policy.index.certificates.of(peer_names))


def with_signature(evidence: Evidence, command: RemotingCommand, secrets: Mapping[str, Secret]) -> Evidence:
    """With what the request itself shows. ``secrets`` are those of the policy."""
    signed = check(command, secrets)
    return evidence if signed is Signed.NOT else replace(evidence, key=access_key_of(command), signed=signed)


def remark(asked: AccessRequest, reason: RefusalReason, principal: str | None) -> str:
    """For the answer, and for people who read it in the log of a client. It says nothing of the policy that the peer
    does not know.
    """
    why = WHY[reason].format(who=principal or "the sender")
    return f"no permission for request code {asked.code}, class {asked.access}: {why}. Ask who runs this name server"

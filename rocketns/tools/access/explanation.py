"""Why a policy allows a request or not: who its sender is, who he is not and why, and what would allow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rocketns.access.classes import RIGHTS, Access, AccessRequest, Mode
from rocketns.access.decision import WHY, Decision, Evidence, RefusalReason, decide, why_not
from rocketns.access.policy import Policy
from rocketns.access.principal import Principal
from rocketns.access.signature import Signed
from rocketns.addresses import literal, split
from rocketns.protocol.codes import request_name
from rocketns.tools.access.question import Question
from rocketns.tools.output import Report, TextTable

# Principals that are named as others who may.
OTHERS_MAX = 3
# What to change in a policy so that it allows a request.
ADVICE = {
    RefusalReason.NO_EVIDENCE:
        'add {where} to networks of a principal that may "{access}", or let it sign{careful}{others}',
    RefusalReason.UNKNOWN_KEY:
        'give the secret of {key!r} in keys, and name {key!r} in keys of a principal that may "{access}"{others}',
    RefusalReason.WRONG_SIGNATURE: "give the sender and this policy the same secret of {key!r}{others}",
    RefusalReason.KEY_ALONE: 'add the access key {key!r} to keys of a principal that may "{access}"{others}',
    RefusalReason.NO_CLASS: "nobody may send it; only the mode off for admin lets codes without a class through",
    RefusalReason.NOT_GRANTED: 'add "{access}" to may of the principal {name}{careful}{others}',
    RefusalReason.NAMESPACE: "add {namespace!r} to kv_namespaces of the principal {name}",
    RefusalReason.BROKER_NAME: "add {strangers} to broker_names of the principal {name}",
    RefusalReason.BROKER_ADDRESS: "{announced} the principal {name}",
    RefusalReason.NOT_THE_PEER: "let the broker announce {peer}, or remove address_is_peer from the principal {name}",
    RefusalReason.TAKEOVER: "add {brokers} to owns of the principal {name}",
    RefusalReason.RATE: "raise requests_per_second of the principal {name}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explanation:
    """``decision``: what is decided where the mode is not off.

    ``principals``: names, whether that is the sender, and why. ``others``: who may do it and is not the sender, the
    nearest first.
    """

    question: Question
    asked: AccessRequest
    evidence: Evidence
    mode: Mode
    decision: Decision
    principals: list[tuple[str, bool, list[str]]]
    others: list[tuple[str, list[str]]]

    @property
    def is_allowed(self) -> bool:
        """Also where it is only observed: False if it would be refused."""
        return self.mode is Mode.OFF or self.decision.reason is None

    @property
    def outcome(self) -> str:
        refused = "refused" if self.mode is Mode.ENFORCE else "would be refused"
        return "allowed" if self.is_allowed else refused

    def why(self) -> str:
        reason, principal = self.decision.reason, self.decision.principal
        if reason is None and principal is not None:
            return f"{principal.name} may do that"
        who = "the sender" if principal is None else principal.name
        text = WHY[reason].format(who=who) if reason is not None else ""
        return f"nothing is decided in the mode off. Enforced, it would be refused: {text}" if self.is_allowed else text

    def to_allow(self) -> str | None:
        """What to change in the policy, in one sentence. None where it is allowed with every mode."""
        reason, principal = self.decision.reason, self.decision.principal
        if reason is None:
            return None
        asked, key, address = self.asked, self.evidence.key, self.evidence.address
        if reason is RefusalReason.NO_EVIDENCE and key is not None:
            reason = RefusalReason.KEY_ALONE
        globs = None if principal is None else principal.broker_names
        host = literal(split(asked.address or "")[0])
        near = [f"{name}, missing: {'; '.join(lacks)}" for name, lacks in self.others[:OTHERS_MAX]]
        return ADVICE[reason].format(
            access=asked.access, key=key, namespace=asked.namespace, name="" if principal is None else principal.name,
            where="its address" if address is None else f'"{address}"', peer=address or "its own address",
            brokers=", ".join(map(repr, asked.brokers())),
            strangers=", ".join(repr(one) for one in asked.brokers() if globs is None or not globs.match(one)),
            announced="let the broker announce an IP address, or remove addresses from" if host is None
            else f'add "{host}" to addresses of',
            careful=" (careful: admin by a network alone is for every program there)"
            if asked.access is Access.ADMIN and key is None else "",
            others=f". Or let it be one of those who may: {' / '.join(near)}" if near else "",
        )  # fmt: skip

    def report(self) -> Report:
        """For people."""
        code = self.asked.code
        rows = [("request", f"{code} {request_name(code)}"),
                ("class", f"{'none' if self.asked.access is Access.OFF else self.asked.access}, "
                          f"mode {self.mode}"),
                ("sender", _sender(self.evidence, self.question.certificates)),
                ("decision", self.outcome if self.decision.reason is None else
                 f"{self.outcome} ({self.decision.reason})"), ("why", self.why())]  # fmt: skip
        if (to_allow := self.to_allow()) is not None:
            rows.append(("to allow it", to_allow))
        who = [(name, "yes" if is_sender else "no", "; ".join(why)) for name, is_sender, why in self.principals]
        tables = [TextTable(("PRINCIPAL", "IS THE SENDER", "WHY"), who)] if who else []
        return [*(f"{name:<12}{text}" for name, text in rows), *tables]


def explained(policy: Policy, question: Question) -> Explanation:
    """What the policy says of a request."""
    asked, evidence = question.asked(), question.evidence(policy)
    enforced = replace(policy, modes=dict.fromkeys(RIGHTS, Mode.ENFORCE))
    principals, others = [], []
    for one in policy.principals:
        lacks, reason = list(missing(one, evidence)), why_not(one, asked, evidence)
        why = lacks or ["it may do that" if reason is None else WHY[reason].format(who="it")]
        principals.append((one.name, not lacks, why))
        if lacks and reason is None:
            others.append((one.name, lacks))
    others.sort(key=lambda other: len(other[1]))
    return Explanation(question, asked, evidence, policy.mode_of(asked.access), decide(enforced, asked, evidence),
                       principals, others)  # fmt: skip


def missing(principal: Principal, evidence: Evidence) -> Iterator[str]:
    """Which kinds of evidence are not there, of those by which the principal is known."""
    if principal.networks and principal.name not in evidence.by_network:
        address = "the address is not known" if evidence.address is None else f"{evidence.address} is not in them"
        yield f"networks: {address}"
    if principal.keys and not (evidence.signed is Signed.RIGHT and evidence.key in principal.keys):
        yield f"keys: {_signed(evidence)}"
    if principal.certificates is not None and principal.name not in evidence.by_certificate:
        yield "certificates: none with such a name was shown"


def _signed(evidence: Evidence) -> str:
    match evidence.signed:
        case Signed.NOT:
            return "the request is not signed"
        case Signed.UNKNOWN_KEY:
            return f"the access key {evidence.key!r} has no secret here"
        case Signed.WRONG:
            return f"the signature of {evidence.key!r} is wrong"
        case Signed.RIGHT:
            return f"it is signed by {evidence.key!r}"


def _sender(evidence: Evidence, certificates: list[str]) -> str:
    address = "an address that is not given" if evidence.address is None else str(evidence.address)
    shown = f", certificate {', '.join(certificates)}" if certificates else ""
    return f"{address}, {_signed(evidence)}{shown}"

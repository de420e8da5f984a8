"""Why a policy allows a request or not: who its sender is, who he is not and why, and what would allow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rocketns.access.classes import RIGHTS, Access, AccessRequest, Mode
from rocketns.access.decision import WHY, Decision, Evidence, decide, known, why_not
from rocketns.access.policy import Policy
from rocketns.access.principal import Principal
from rocketns.access.signature import Signed
from rocketns.protocol.codes import RequestCode
from rocketns.tools.access.advice import Refusal, advice
from rocketns.tools.access.question import Question
from rocketns.tools.output import Report, TextTable

OUTCOMES = {Mode.OFF: "allowed", Mode.OBSERVE: "would be refused", Mode.ENFORCE: "refused"}


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
        return "allowed" if self.is_allowed else OUTCOMES[self.mode]

    def why(self) -> str:
        reason, principal = self.decision.reason, self.decision.principal
        if reason is None and principal is not None:
            return f"{principal.name} may do that"
        who = "the sender" if principal is None else principal.name
        text = WHY[reason].format(who=who) if reason is not None else ""
        return f"nothing is decided in the mode off. Enforced, it would be refused: {text}" if self.is_allowed else text

    def value(self) -> dict[str, Any]:
        """For programs."""
        principal = self.decision.principal
        return {
            "code": self.asked.code, "request": _name(self.asked.code), "class": self.asked.access.value,
            "mode": self.mode.word, "outcome": self.outcome, "reason": self.decision.reason,
            "principal": None if principal is None else principal.name, "why": self.why(), "toAllow": self.to_allow(),
            "principals": [{"name": name, "isSender": is_sender, "why": why} for name, is_sender, why in
                           self.principals],
        }  # fmt: skip

    def to_allow(self) -> str | None:
        """What to change in the policy. None where it is allowed with every mode."""
        reason = self.decision.reason
        if reason is None:
            return None
        return advice(Refusal(self.asked, self.evidence, reason, self.decision.principal, self.others))

    def report(self) -> Report:
        """For people."""
        rows = [("request", f"{self.asked.code} {_name(self.asked.code) or ''}".rstrip()),
                ("class", f"{'none' if self.asked.access is Access.OFF else self.asked.access}, "
                          f"mode {self.mode.word}"),
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
    senders = {one.name for one in known(policy, evidence)}
    principals = [_judged(one, asked, evidence, is_sender=one.name in senders) for one in policy.principals]
    others = [(one.name, lacks) for one in policy.principals
              if (lacks := list(missing(one, evidence))) and why_not(one, asked, evidence) is None]  # fmt: skip
    others.sort(key=lambda other: len(other[1]))
    return Explanation(question, asked, evidence, policy.mode_of(asked.access), decide(enforced, asked, evidence),
                       principals, others)  # fmt: skip


def _judged(
    one: Principal, asked: AccessRequest, evidence: Evidence, *, is_sender: bool
) -> tuple[str, bool, list[str]]:
    if not is_sender:
        return one.name, False, list(missing(one, evidence))
    reason = why_not(one, asked, evidence)
    return one.name, True, ["it may do that" if reason is None else WHY[reason].format(who="it")]


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


def _name(code: int) -> str | None:
    return RequestCode(code).name if code in RequestCode._value2member_map_ else None

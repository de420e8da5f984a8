"""What to change in a policy so that it allows a request, a sentence for each reason of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rocketns.access.classes import Access, AccessRequest
from rocketns.access.decision import Evidence, RefusalReason
from rocketns.access.principal import Principal
from rocketns.addresses import literal, split

# Principals that are named as others who may.
OTHERS_MAX = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is refused with ENFORCE. ``principal``: whose right does not do.

    ``others``: who would have the right, and what is missing of the sender to be one of them; the nearest first.
    """

    asked: AccessRequest
    evidence: Evidence
    reason: RefusalReason
    principal: Principal | None
    others: Sequence[tuple[str, Sequence[str]]]

    @property
    def name(self) -> str:
        return "" if self.principal is None else self.principal.name


def advice(refusal: Refusal) -> str:
    """One sentence."""
    return ADVICE[refusal.reason](refusal)


def _not_granted(refusal: Refusal) -> str:
    return f'add "{refusal.asked.access}" to may of the principal {refusal.name}{_careful(refusal)}{_others(refusal)}'


def _namespace(refusal: Refusal) -> str:
    return f"add {refusal.asked.namespace!r} to kv_namespaces of the principal {refusal.name}"


def _broker_name(refusal: Refusal) -> str:
    globs = None if refusal.principal is None else refusal.principal.broker_names
    names = ", ".join(repr(one) for one in refusal.asked.brokers() if globs is None or not globs.match(one))
    return f"add {names} to broker_names of the principal {refusal.name}"


def _broker_address(refusal: Refusal) -> str:
    host = literal(split(refusal.asked.address or "")[0])
    if host is None:
        return f"let the broker announce an IP address, or remove addresses from the principal {refusal.name}"
    return f'add "{host}" to addresses of the principal {refusal.name}'


def _not_the_peer(refusal: Refusal) -> str:
    peer = refusal.evidence.address or "its own address"
    return f"let the broker announce {peer}, or remove address_is_peer from the principal {refusal.name}"


def _unknown_key(refusal: Refusal) -> str:
    key = repr(refusal.evidence.key)
    return f"give the secret of {key} in keys, and name {key} in keys of a principal that may " \
           f'"{refusal.asked.access}"{_others(refusal)}'  # fmt: skip


def _wrong_signature(refusal: Refusal) -> str:
    return f"give the sender and this policy the same secret of {refusal.evidence.key!r}{_others(refusal)}"


def _no_class(_refusal: Refusal) -> str:
    return "nobody may send it; only the mode off for admin lets codes without a class through"


def _no_evidence(refusal: Refusal) -> str:
    evidence, right = refusal.evidence, f'of a principal that may "{refusal.asked.access}"'
    if evidence.key is not None:
        return f"add the access key {evidence.key!r} to keys {right}{_others(refusal)}"
    where = "its address" if evidence.address is None else f'"{evidence.address}"'
    return f"add {where} to networks {right}, or let it sign{_careful(refusal)}{_others(refusal)}"


def _takeover(refusal: Refusal) -> str:
    return f"add {', '.join(map(repr, refusal.asked.brokers()))} to owns of the principal {refusal.name}"


def _rate(refusal: Refusal) -> str:
    return f"raise requests_per_second of the principal {refusal.name}"


def _careful(refusal: Refusal) -> str:
    return " (careful: admin by a network alone is for every program there)" \
        if refusal.asked.access is Access.ADMIN and refusal.evidence.key is None else ""  # fmt: skip


def _others(refusal: Refusal) -> str:
    near = [f"{name}, missing: {'; '.join(missing)}" for name, missing in refusal.others[:OTHERS_MAX]]
    return f". Or let it be one of those who may: {' / '.join(near)}" if near else ""


ADVICE: dict[RefusalReason, Callable[[Refusal], str]] = {
    RefusalReason.NO_EVIDENCE: _no_evidence,
    RefusalReason.UNKNOWN_KEY: _unknown_key,
    RefusalReason.WRONG_SIGNATURE: _wrong_signature,
    RefusalReason.KEY_ALONE: _no_evidence,
    RefusalReason.NO_CLASS: _no_class,
    RefusalReason.NOT_GRANTED: _not_granted,
    RefusalReason.NAMESPACE: _namespace,
    RefusalReason.BROKER_NAME: _broker_name,
    RefusalReason.BROKER_ADDRESS: _broker_address,
    RefusalReason.NOT_THE_PEER: _not_the_peer,
    RefusalReason.TAKEOVER: _takeover,
    RefusalReason.RATE: _rate,
}

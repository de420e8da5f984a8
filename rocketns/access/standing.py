"""What a connection's peer is by its address and its certificate, which do not change while it is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import ReferenceType, ref

from rocketns.access.decision import Evidence
from rocketns.access.policy import Policy
from rocketns.access.signing.secret import Secret
from rocketns.access.signing.signature import Signed, access_key_of, check
from rocketns.addresses import Address, literal, split
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.connection import Connection


@dataclass(frozen=True, slots=True)
class Standing:
    """``policy``: by which it was found. Another policy needs another one, and this does not keep it: it has secrets,
    and a connection may be open for days.
    """

    policy: ReferenceType[Policy]
    evidence: Evidence

    @classmethod
    def of(cls, policy: Policy, connection: Connection, *, trusts_announced: bool) -> Standing:
        """An address of a PROXY header counts only with ``trusts_announced``: else any peer may write its own."""
        address = None if connection.is_announced and not trusts_announced else address_of(connection)
        return cls(ref(policy), evidence_of(policy, address, connection.peer_names))

    def with_signature(self, command: RemotingCommand, secrets: Mapping[str, Secret]) -> Evidence:
        """With what the request itself shows. ``secrets`` are those of the policy."""
        signed = check(command, secrets)
        if signed is Signed.NOT:
            return self.evidence
        return replace(self.evidence, key=access_key_of(command), signed=signed)


def evidence_of(policy: Policy, address: Address | None, peer_names: Sequence[str]) -> Evidence:
    """What an address and the names of a certificate say of a peer."""
    return Evidence(address, policy.index.networks.of(address), policy.index.certificates.of(peer_names))


def address_of(connection: Connection) -> Address | None:
    """The peer's address, without the scope that one of IPv6 may have."""
    return literal(split(connection.address)[0].partition("%")[0])

"""Asked once for each request, before it is dispatched: refuse it, or let it pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import ReferenceType, ref

from rocketns.access.classes import Access, AccessRequest, Mode, access_request
from rocketns.access.decision import (
    Decision,
    Evidence,
    RefusalReason,
    decide,
    evidence_of,
    principals_of,
    remark,
    with_signature,
)
from rocketns.access.policy import OPEN, Policy
from rocketns.access.principal import Principal
from rocketns.access.refusals import RefusedRequests
from rocketns.access.signature import Signed, access_key_of
from rocketns.addresses import literal, shown_account, split
from rocketns.errors import NoPermission, SystemBusy
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import RequestRefused
from rocketns.routeinfo.tables import RouteTables


@dataclass(frozen=True, slots=True)
class AccessVerdict:
    """``error`` is None where the request is carried out. ``event``: what is to be told of it.

    ``principals`` and ``access_key``: whose request it is, as far as that is proven. A key that is only named, without
    its signature, is in ``event`` alone. ``depends_on_bytes_alone``: whoever sends these bytes may.
    ``depends_on_peer_alone``: its peer may send others of the class, whatever is in them.
    """

    error: NoPermission | SystemBusy | None = None
    event: RequestRefused | None = None
    principals: tuple[str, ...] = ()
    access_key: str | None = None
    depends_on_bytes_alone: bool = False
    depends_on_peer_alone: bool = False


PASS = AccessVerdict()
UNKNOWN_KEY = "unknown"


class PeerEvidence(NamedTuple):
    """What is known of a connection's peer by this policy. Another policy needs another one."""

    policy: ReferenceType[Policy]
    evidence: Evidence


class Decided(NamedTuple):
    """What is counted together. ``reason`` is "" where a request is allowed.

    ``key``: the access key that it names, "" for none, `UNKNOWN_KEY` for all that the policy does not have.
    """

    access: Access
    mode: Mode
    reason: str
    key: str = ""


# In the fields of a refused takeover: the address of the broker that has the id.
HOLDER = "holder"


SECOND_NS = 1_000_000_000


class PrincipalRates:
    """A token bucket for each principal that has a rate, with one second's worth of tokens. Of a request that several
    may send, one of them needs room.

    A bucket is one number: the time until which its tokens are spent (the virtual scheduling of ITU-T I.371, also
    called GCRA).
    """

    def __init__(self) -> None:
        self._spent_until_ns: dict[str, int] = {}

    def spend(self, principals: Sequence[Principal], now_ms: int) -> bool:
        """Take a token of the first bucket that has one, and none where a principal has no rate. False if all buckets
        are empty.
        """
        now_ns, rates = now_ms * 1_000_000, {one.name: one.requests_per_second for one in principals}
        for name, rate in rates.items() if None not in rates.values() else ():
            spent_ns = max(self._spent_until_ns.get(name, 0), now_ns) + (SECOND_NS // rate if rate else 0)
            if spent_ns <= now_ns + SECOND_NS:
                self._spent_until_ns[name] = spent_ns
                return True
        return None in rates.values()


class Guard:
    """Decides by ``policy``, which may be replaced. Control only, but any thread may read ``decisions``, which counts.

    ``trusts_announced``: whether addresses of PROXY headers come from trusted proxies only.
    """

    def __init__(self, policy: Policy = OPEN, *, trusts_announced: bool = False) -> None:
        self.policy = policy
        self.decisions: Counter[Decided] = Counter()
        self.refusals = RefusedRequests()
        self._trusts_announced = trusts_announced
        self._rates = PrincipalRates()

    def ask(
        self, connection: Connection, command: RemotingCommand, access: Access, now_ms: int,
        tables: RouteTables | None = None,
    ) -> AccessVerdict:  # fmt: skip
        """May the peer ask for this? ``tables`` say which groups have the address that it names."""
        return self.ask_for(connection, command, access_request(command, access, tables), now_ms)

    def ask_for(
        self, connection: Connection, command: RemotingCommand, asked: AccessRequest, now_ms: int
    ) -> AccessVerdict:
        """May the peer do this with the request?"""
        mode = self.policy.mode_of(asked.access)
        if mode is Mode.OFF:
            return PASS
        evidence = self._evidence(connection, command)
        decision = self._within_rate(decide(self.policy, asked, evidence), now_ms)
        self._count(asked.access, decision, evidence.key)
        allowed_by = decision.principals if decision.reason is None else ()
        free = [one for one in allowed_by if one.requests_per_second is None]
        who = AccessVerdict(
            principals=tuple(one.name for one in decision.principals),
            access_key=evidence.key if evidence.signed is Signed.RIGHT else None,
            depends_on_bytes_alone=any(one.is_identified_by_key_alone for one in free),
            depends_on_peer_alone=any(not one.keys for one in free),
        )
        if decision.reason is None:
            return who
        return self._refuse(connection, asked, who, evidence.key, decision, command.ext_fields, now_ms)

    def _within_rate(self, decision: Decision, now_ms: int) -> Decision:
        """Refused, if each principal by whose right it is allowed has sent too many requests in this second."""
        if decision.reason is not None or not decision.principals or self._rates.spend(decision.principals, now_ms):
            return decision
        return replace(decision, reason=RefusalReason.RATE)

    def _count(self, access: Access, decision: Decision, key: str | None) -> None:
        shown = "" if key is None else key if key in self.policy.secrets else UNKNOWN_KEY
        self.decisions[Decided(access, decision.mode, decision.reason or "", shown)] += 1

    def principals_of(self, connection: Connection, command: RemotingCommand) -> Iterator[Principal]:
        """Whom the peer is, whatever the modes of the classes are. Found out when the first one is taken."""
        yield from principals_of(self.policy, self._evidence(connection, command))

    def host_of(self, connection: Connection) -> str | None:
        """The peer's host. None for that of a PROXY header which anybody could have sent."""
        return None if self._is_anybodys(connection) else connection.address.rpartition(":")[0]

    def recorded_address(self, connection: Connection) -> tuple[str, str]:
        """The peer's host and address, as records have them: those of the socket where anybody could announce others.
        The socket's port is not known then.
        """
        if self._is_anybodys(connection):
            host = shown_account(connection.host)
            return host, host
        return connection.address.rpartition(":")[0], connection.address

    def _is_anybodys(self, connection: Connection) -> bool:
        """Whether its address is that of a PROXY header which anybody could have sent."""
        return connection.is_announced and not self._trusts_announced

    def refuse_takeover(
        self, connection: Connection, command: RemotingCommand, incumbent: str, principals: tuple[str, ...], now_ms: int
    ) -> AccessVerdict:
        """A registration would take an id away from the broker at ``incumbent``, and nothing allows it.

        ``principals``: by whose right it may register.
        """
        decision, key = Decision(self.policy.takeover, RefusalReason.TAKEOVER), access_key_of(command)
        self._count(Access.BROKER, decision, key)
        fields, who = (command.ext_fields or {}) | {HOLDER: incumbent}, AccessVerdict(principals=principals)
        return self._refuse(connection, AccessRequest(command.code, Access.BROKER), who, key, decision, fields, now_ms)

    def _evidence(self, connection: Connection, command: RemotingCommand) -> Evidence:
        """A connection may be open for days, and does not keep a former policy with its secrets."""
        found: PeerEvidence | None = connection.evidence
        if found is None or found.policy() is not self.policy:
            is_unknown = self._is_anybodys(connection)  # else any peer may write its own address
            address = None if is_unknown else literal(split(connection.address)[0].partition("%")[0])
            found = PeerEvidence(ref(self.policy), evidence_of(self.policy, address, connection.peer_names))
            connection.evidence = found
        return with_signature(found.evidence, command, self.policy.secrets)

    def _refuse(
        self, connection: Connection, asked: AccessRequest, who: AccessVerdict, key: str | None, decision: Decision,
        fields: Mapping[str, str | None] | None, now_ms: int,
    ) -> AccessVerdict:  # fmt: skip
        """``key``: that the request names."""
        reason, principal = decision.reason or RefusalReason.NO_EVIDENCE, next(iter(who.principals), None)
        host = shown_account(connection.host)
        refused = RequestRefused(asked.code, asked.access.value, reason.value, host, principal, key,
                                 is_enforced=decision.is_refused, count=1, fields=())  # fmt: skip
        event = self.refusals.note(refused, fields, now_ms)
        kind = SystemBusy if reason is RefusalReason.RATE else NoPermission
        error = kind(remark(asked, reason, principal)) if decision.is_refused else None
        return replace(who, error=error, event=event)

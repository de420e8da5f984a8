"""Asked once for each request, before it is dispatched: refuse it, or let it pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rocketns.access.asked import Asked, asked_of
from rocketns.access.classes import Access, Mode
from rocketns.access.decision import Decision, Evidence, Reason, decide
from rocketns.access.policy import OPEN, Policy
from rocketns.access.refusals import Refused, RefusedRequests
from rocketns.access.standing import Standing
from rocketns.access.words import remark
from rocketns.errors import NoPermission
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import RequestRefused


@dataclass(frozen=True, slots=True)
class Verdict:
    """``error`` is None where the request is carried out. ``event``: what is to be told of it.

    ``principal`` and ``access_key``: whose request it is, as far as that is known. ``depends_on_bytes_alone``: whoever
    sends these bytes may. ``is_observed``: it would be refused.
    """

    error: NoPermission | None = None
    event: RequestRefused | None = None
    principal: str | None = None
    access_key: str | None = None
    depends_on_bytes_alone: bool = False
    is_observed: bool = False


PASS = Verdict()


class Guard:
    """Control only. ``decisions`` counts by class, mode and reason, which is "" where a request is allowed.

    ``trusts_announced``: whether addresses of PROXY headers come from trusted proxies only.
    """

    def __init__(self, policy: Policy = OPEN, *, trusts_announced: bool = False) -> None:
        self.policy = policy
        self.is_off = policy.is_off
        self.decisions: Counter[tuple[Access, Mode, str]] = Counter()
        self.refusals = RefusedRequests()
        self._trusts_announced = trusts_announced

    def follow(self, policy: Policy) -> None:
        """From now on decide by this policy."""
        self.policy, self.is_off = policy, policy.is_off

    def ask(self, connection: Connection, command: RemotingCommand, access: Access, now_ms: int) -> Verdict:
        """May the peer ask for this?"""
        mode = self.policy.mode_of(access)
        if mode is Mode.OFF:
            return PASS
        evidence = self._standing(connection).with_signature(command)
        asked = asked_of(command, access)
        decision = decide(self.policy, asked, evidence)
        self.decisions[access, mode, decision.reason or ""] += 1
        if decision.reason is None and decision.principal is not None:
            by_key = decision.principal.is_known_by_key_alone
            return Verdict(None, None, decision.principal.name, evidence.key, depends_on_bytes_alone=by_key)
        return self._refuse(connection, command, asked, evidence, decision, now_ms)

    def _standing(self, connection: Connection) -> Standing:
        standing = connection.standing
        if not isinstance(standing, Standing) or standing.policy is not self.policy:
            standing = Standing.of(self.policy, connection, trusts_announced=self._trusts_announced)
            connection.note_standing(standing)
        return standing

    def _refuse(
        self, connection: Connection, command: RemotingCommand, asked: Asked, evidence: Evidence, decision: Decision,
        now_ms: int,
    ) -> Verdict:  # fmt: skip
        reason = decision.reason or Reason.NO_EVIDENCE
        principal = None if decision.principal is None else decision.principal.name
        refused = Refused(connection.host, command.code, asked.access, reason, principal, evidence.key,
                          is_enforced=decision.is_refused)  # fmt: skip
        event = self.refusals.note(refused, command.ext_fields, now_ms)
        error = NoPermission(remark(asked, reason, principal)) if decision.is_refused else None
        return Verdict(error, event, principal, evidence.key, is_observed=error is None)

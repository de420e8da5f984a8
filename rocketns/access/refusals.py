"""Refused requests, put together: a peer that is refused a thousand times is one event a minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocketns.access.classes import Access
from rocketns.access.decision import Reason
from rocketns.access.shown import TEXT_CHARS_MAX, cut, shown_fields
from rocketns.routeinfo.events import RequestRefused

INTERVAL_MS = 60_000
# Beyond them, refusals are counted together: of a host, and of all hosts.
KINDS_OF_A_HOST_MAX = 16
KINDS_MAX = 1_024
OTHERS = "…"  # stands for all hosts, or all access keys, that have no room


@dataclass(frozen=True, slots=True)
class Refused:
    """The kind of a refusal. Those of the same kind are one event with their number."""

    host: str
    code: int
    access: Access
    reason: Reason
    principal: str | None
    access_key: str | None
    is_enforced: bool


@dataclass(slots=True)
class _Since:
    """What came since the last event of a kind."""

    told_ms: int
    count: int = 0
    fields: tuple[tuple[str, str], ...] = ()


class RefusedRequests:
    """Bounded: KINDS_MAX kinds, and KINDS_OF_A_HOST_MAX of one host."""

    def __init__(self) -> None:
        self._since: dict[Refused, _Since] = {}
        self._kinds_of: Counter[str] = Counter()

    def note(self, refused: Refused, fields: Mapping[str, str | None] | None, now_ms: int) -> RequestRefused | None:
        """A request was refused. The event, if it is the first of its kind within INTERVAL_MS."""
        refused = self._with_room(_cut(refused))
        since = self._since.get(refused)
        if since is None:
            since = self._since[refused] = _Since(now_ms)
            self._kinds_of[refused.host] += 1
            return _event(refused, 1, shown_fields(fields))
        since.count += 1
        if since.count == 1:
            since.fields = shown_fields(fields)
        return None

    def _with_room(self, refused: Refused) -> Refused:
        if refused in self._since:
            return refused
        if len(self._since) >= KINDS_MAX:
            return Refused(OTHERS, 0, Access.OFF, Reason.NOT_GRANTED, None, None, refused.is_enforced)
        if self._kinds_of[refused.host] >= KINDS_OF_A_HOST_MAX:
            return replace(refused, principal=None, access_key=OTHERS, code=0, access=Access.OFF)
        return refused

    def due(self, now_ms: int, after_ms: int = INTERVAL_MS) -> list[RequestRefused]:
        """Once in a while: the events of what was refused since the last ones, of kinds whose last one is ``after_ms``
        old. A kind that ended is forgotten.
        """
        told = [(refused, since) for refused, since in self._since.items() if now_ms - since.told_ms >= after_ms]
        events = []
        for refused, since in told:
            if since.count:
                events.append(_event(refused, since.count, since.fields))
                since.told_ms, since.count = now_ms, 0
            else:
                self._forget(refused)
        return events

    def _forget(self, refused: Refused) -> None:
        del self._since[refused]
        self._kinds_of[refused.host] -= 1
        if not self._kinds_of[refused.host]:
            del self._kinds_of[refused.host]


def _cut(refused: Refused) -> Refused:
    """A key that a peer names may be of any length."""
    return replace(refused, access_key=cut(refused.access_key, TEXT_CHARS_MAX))


def _event(refused: Refused, count: int, fields: tuple[tuple[str, str], ...]) -> RequestRefused:
    return RequestRefused(
        refused.code, refused.access.value, refused.reason.value, refused.host, refused.principal, refused.access_key,
        is_enforced=refused.is_enforced, count=count, fields=fields,
    )  # fmt: skip

"""Refused requests, put together: a peer that is refused a thousand times is one event a minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocketns.access.classes import Access
from rocketns.access.decision import RefusalReason
from rocketns.access.shown import TEXT_BYTES_MAX, cut, fields_bytes, shown_fields
from rocketns.routeinfo.events import Fields, RequestRefused

INTERVAL_MS = 60_000
# Beyond them, refusals are counted together: of a host, and of all hosts.
KINDS_OF_A_HOST_MAX = 16
KINDS_MAX = 1_024
# Bytes of fields in the events of a minute: of one host, and of all. Further events say only who was refused, and why.
HOST_BYTES_MAX, BYTES_MAX = 8_000, 128_000
# Hosts that are named in a minute although there is no room for their kinds, if they are not among those named before.
NEWCOMERS_MAX = 64
NAMED_BEFORE_MAX = 4_096
OTHERS = "…"  # stands for all hosts, or all access keys, that have no room


@dataclass(slots=True)
class _Since:
    """What came since the last event of a kind: of an event with one request, and without fields."""

    event_ms: int
    count: int = 0
    fields: tuple[tuple[str, str], ...] = ()


class RefusedRequests:
    """Bounded: kinds, their bytes in a minute, and the hosts that are remembered. Those who come first cannot use up
    the room of a newcomer: whoever is refused for the first time is named.
    """

    def __init__(self) -> None:
        self._since: dict[RequestRefused, _Since] = {}
        self._kinds_of: Counter[str] = Counter()
        self._named: dict[str, None] = {}  # hosts, the longest known first
        self._minute_ms = 0
        self._newcomers = 0
        self._bytes = 0
        self._bytes_of: Counter[str] = Counter()

    def note(
        self, refused: RequestRefused, fields: Mapping[str, str | None] | None, now_ms: int
    ) -> RequestRefused | None:
        """A request was refused. The event with its fields, if it is the first of its kind within INTERVAL_MS."""
        self._begin_minute(now_ms)
        refused = replace(refused, access_key=cut(refused.access_key, TEXT_BYTES_MAX))  # a peer may name any
        kind = self._with_room(refused)
        if kind.host is OTHERS and refused.host not in self._named and self._newcomers < NEWCOMERS_MAX:
            self._newcomers += 1
            return self._event(refused, 1, shown_fields(fields))
        since = self._since.get(kind)
        if since is None:
            since = self._since[kind] = _Since(now_ms)
            self._kinds_of[kind.host] += 1
            return self._event(kind, 1, shown_fields(fields))
        since.count += 1
        if since.count == 1:
            since.fields = shown_fields(fields)
        return None

    def _begin_minute(self, now_ms: int) -> None:
        if now_ms - self._minute_ms >= INTERVAL_MS:
            self._minute_ms, self._newcomers, self._bytes = now_ms, 0, 0
            self._bytes_of.clear()

    def _with_room(self, refused: RequestRefused) -> RequestRefused:
        if refused in self._since:
            return refused
        if len(self._since) >= KINDS_MAX:
            return replace(refused, host=OTHERS, code=0, access=Access.OFF.value, principal=None, access_key=None,
                           reason=RefusalReason.NOT_GRANTED.value)  # fmt: skip
        if self._kinds_of[refused.host] >= KINDS_OF_A_HOST_MAX:
            return replace(refused, principal=None, access_key=OTHERS, code=0, access=Access.OFF.value)
        return refused

    def due(self, now_ms: int, after_ms: int = INTERVAL_MS) -> list[RequestRefused]:
        """Once in a while: the events of what was refused since the last ones, of kinds whose last one is ``after_ms``
        old. A kind that ended is forgotten.
        """
        self._begin_minute(now_ms)
        due = [(refused, since) for refused, since in self._since.items() if now_ms - since.event_ms >= after_ms]
        events = []
        for refused, since in due:
            if since.count:
                events.append(self._event(refused, since.count, since.fields))
                since.event_ms, since.count = now_ms, 0
            else:
                self._forget(refused)
        return events

    def _forget(self, refused: RequestRefused) -> None:
        del self._since[refused]
        self._kinds_of[refused.host] -= 1
        if not self._kinds_of[refused.host]:
            del self._kinds_of[refused.host]

    def _event(self, refused: RequestRefused, count: int, fields: Fields) -> RequestRefused:
        """Names the host. Without the fields where those of the minute have had their bytes."""
        host, size = refused.host, fields_bytes(fields)
        if host not in self._named and len(self._named) >= NAMED_BEFORE_MAX:
            del self._named[next(iter(self._named))]
        self._named[host] = None
        if self._bytes_of[host] + size > HOST_BYTES_MAX or self._bytes + size > BYTES_MAX:
            fields = ()
        else:
            self._bytes_of[host] += size
            self._bytes += size
        return replace(refused, count=count, fields=fields)

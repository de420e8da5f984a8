"""What is recorded of the requests of administrators, and how often. Makes the events; nothing is written here.

A request that changed something always has an event of its own. Of those that changed nothing, which a peer may repeat
as fast as it can send, the first has one, and the others are counted until `drain_counted`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from rocketns.access.shown import TEXT_BYTES_MAX, cut, shown_fields
from rocketns.config.properties import is_secret
from rocketns.logs import shortened
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import AdminRequested

# Bytes, as written, of the state before a change, and as many of the state after it. With the fields this keeps a
# record below LARGE_BYTES of `journal.buffer`, so large records cannot take its room in the buffer.
CHANGE_BYTES_MAX = 3_000
# Properties, brokers or permissions in what was there before or is there after.
LISTED_MAX = 20
# Events with fields, before and after. Further ones in the same second say only who sent what, and its result.
DETAILED_PER_SECOND_MAX = 50
# Senders whose requests without effect are counted apart. Those of all others are counted as one, EVERYBODY.
SENDERS_MAX = 1_000
EVERYBODY = "*"
COUNTED_EVERY_MS = 10_000


class AdminSender(NamedTuple):
    """``host`` without port, ``address`` with it. Principal and access key are None where they are not known."""

    host: str
    address: str
    principal: str | None
    access_key: str | None


class Trail:
    """Control only. `note_change` is for the processor of a request, `requested` follows it."""

    def __init__(self) -> None:
        self._change: tuple[str | None, str | None] = (None, None)
        self._repeated: dict[tuple[object, ...], _Repeated] = {}
        self._second = 0
        self._detailed = 0

    def note_change(self, before: str | None, after: str | None) -> None:
        """What the request changes, in a text for a reader. Cut at `CHANGE_BYTES_MAX`."""
        self._change = (before, after)

    def requested(
        self, command: RemotingCommand, sender: AdminSender, result: int, now_ms: int, *, has_changed: bool
    ) -> list[AdminRequested]:
        """The event of a request of class admin that was processed; none for a repeated one that changed nothing."""
        (before, after), self._change = self._change, (None, None)
        host, address, *names = sender
        principal, access_key = (cut(name, TEXT_BYTES_MAX) for name in names)
        who = AdminSender(host, address, principal, access_key)
        event = AdminRequested(command.code, result, *who, (), None, None, has_details=False)
        if not has_changed and self._is_repeated(event):
            return []
        if self._is_over(now_ms):
            return [event]
        return [replace(event, fields=shown_fields(command.ext_fields), before=cut(before, CHANGE_BYTES_MAX),
                        after=cut(after, CHANGE_BYTES_MAX), has_details=True)]  # fmt: skip

    def drain_counted(self) -> list[AdminRequested]:
        """The requests that `requested` gave no event for, since the last call. Call it every `COUNTED_EVERY_MS`."""
        repeated, self._repeated = self._repeated, {}
        return [replace(one.event, count=one.count) for one in repeated.values() if one.count]

    def _is_repeated(self, event: AdminRequested) -> bool:
        """Whether its sender had an event for such a request. Then it is counted."""
        kind = (event.code, event.result)
        key: tuple[object, ...] = (*kind, event.host, event.principal, event.access_key)
        if key not in self._repeated and len(self._repeated) >= SENDERS_MAX:
            key, event = (*kind, EVERYBODY), replace(event, host=EVERYBODY, address=EVERYBODY)
            event = replace(event, principal=None, access_key=None)
        repeated = self._repeated.setdefault(key, _Repeated(event))
        if repeated.event is event:
            return False
        repeated.count += 1
        return True

    def _is_over(self, now_ms: int) -> bool:
        """Count one more event, and whether this second had `DETAILED_PER_SECOND_MAX` already."""
        if now_ms // 1000 != self._second:
            self._second, self._detailed = now_ms // 1000, 0
        self._detailed += 1
        return self._detailed > DETAILED_PER_SECOND_MAX


@dataclass(slots=True)
class _Repeated:
    """``count``: further requests like that of ``event``."""

    event: AdminRequested
    count: int = 0


def without_secrets(values: Mapping[str, str | None]) -> str | None:
    """The values of properties as JSON; null for one whose name says that it is a password. None without any."""
    return short_json({name: None if is_secret(name) else value for name, value in values.items()}) if values else None


def short_json(values: Mapping[str, Any]) -> str:
    """JSON with the first items, and how many more there are."""
    shown = {shortened(name, TEXT_BYTES_MAX): _shown(value) for name, value in islice(values.items(), LISTED_MAX)}
    return json.dumps(shown | _more(len(values)), ensure_ascii=False)


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_shown, value[:LISTED_MAX]), *_more(len(value)).values()]
    return shortened(value, TEXT_BYTES_MAX) if isinstance(value, str) else value


def _more(count: int) -> dict[str, str]:
    return {"…": f"{count - LISTED_MAX} more"} if count > LISTED_MAX else {}

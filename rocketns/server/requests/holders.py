"""The connections of control's loop that hold bytes, in the order in which they are closed: see _fast/reactor/shedding.

First strangers, unless connections of registered brokers hold more than half of the limit. If a host holds more than
its bound, first the host with the most. Then whoever has made no progress for the longest time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Generic, Protocol, TypeVar

from rocketns.config import Limits
from rocketns.server.requests.largest import Largest

INPUT, OUTPUT = 0, 1  # kinds of bytes: frames that are not processed yet, and unsent answers
TOO_MUCH_UNFINISHED = "over the limit for unfinished frames (incomingBytesMax), and this connection is the first to go"
TOO_MUCH_UNSENT = "over the limit for unsent answers (outgoingBytesTotalMax), and this connection is the first to go"
STALLED_FRAME = "too little of its unfinished frame came (progressSeconds)"
STALLED_ANSWERS = "too little of its unsent answers was taken (progressSeconds)"

# So many bytes that came, or were taken, are progress. Also the rest of the frame or of the answers.
PROGRESS_BYTES = 16 * 1024


class Peer(Protocol):
    """A connection whose bytes are counted."""

    def __hash__(self) -> int: ...

    @property
    def host(self) -> str: ...

    @property
    def is_known(self) -> bool:
        """Whether a broker registered from it."""


Key = TypeVar("Key", bound=Peer)


@dataclass(slots=True, frozen=True)
class Bounds:
    """In bytes. A host with more than ``host_max`` is looked at by itself.

    A connection with less than ``listed_min`` is not closed: that would free little.
    """

    total_max: int
    host_max: int
    listed_min: int

    @classmethod
    def of(cls, limits: Limits, total_max: int) -> Bounds:
        """The bounds that follow from a total."""
        return cls(total_max, limits.host_bytes_max(total_max), limits.listed_bytes_min(total_max))


@dataclass(slots=True)
class _Holding:
    """What one connection holds. ``is_listed``: it holds enough bytes that closing it would help."""

    host: Hashable
    is_known: bool
    progress_ms: int
    size: int = 0
    moved: int = 0
    is_listed: bool = False


class _Group(Generic[Key]):
    """Strangers, or known ones. Dicts are in the order of the last progress, the longest ago first."""

    def __init__(self) -> None:
        self.hosts: Largest[Hashable] = Largest()
        self.listed: dict[Key, None] = {}
        self.listed_of: dict[Hashable, dict[Key, None]] = {}

    def enlist(self, key: Key, host: Hashable) -> None:
        self.listed[key] = None
        self.listed_of.setdefault(host, {})[key] = None

    def strike(self, key: Key, host: Hashable) -> None:
        del self.listed[key]
        of_host = self.listed_of[host]
        del of_host[key]
        if not of_host:
            del self.listed_of[host]


class Holders(Generic[Key]):
    """``total`` is the sum in bytes.

    ``number_of`` gives what stands for a host: by default its name. ``changed`` is called with known or not, that
    number, the change in bytes, and the time of `oldest_ms_of`.
    """

    def __init__(
        self, bounds: Bounds, now_ms: Callable[[], int],
        number_of: Callable[[str], Hashable] = str,
        changed: Callable[[bool, Hashable, int, int], object] = lambda *_: None,
    ) -> None:  # fmt: skip
        self.total = 0
        self._bounds = bounds
        self._now_ms = now_ms
        self._number_of = number_of
        self._changed = changed
        self._holdings: dict[Key, _Holding] = {}  # in the order of the last progress
        self._groups: tuple[_Group[Key], _Group[Key]] = (_Group(), _Group())

    def hold(self, key: Key, size: int, moved: int = 0, *, renews: bool = True) -> int:
        """Set the bytes that a connection holds, of which ``moved`` came or were taken meanwhile. Returns the change.

        `PROGRESS_BYTES` in ``moved`` say that what it holds now belongs to another frame. Without ``renews`` progress
        counts at the next call.
        """
        holding = self._holdings.get(key)
        if holding is None:
            if not size:
                return 0
            moved = 0
            holding = self._holdings[key] = _Holding(self._number_of(key.host), key.is_known, self._now_ms())
        elif holding.is_known != key.is_known:
            before = holding.size
            self.hold_none(key)
            return self.hold(key, size) - before
        change = size - holding.size
        holding.moved += moved
        if renews and size and holding.moved >= PROGRESS_BYTES:
            self._renew(key, holding)
        self._count(key, holding, size)
        if not size:
            del self._holdings[key]
        return change

    def hold_none(self, key: Key) -> None:
        """The connection holds nothing any more."""
        holding = self._holdings.pop(key, None)
        if holding is not None:
            self._count(key, holding, 0)

    def renew(self, key: Key) -> None:
        """The peer was kept waiting: its time begins again."""
        holding = self._holdings.get(key)
        if holding is not None:
            self._renew(key, holding)
            self._count(key, holding, holding.size)

    def _renew(self, key: Key, holding: _Holding) -> None:
        """Progress was made now."""
        holding.progress_ms, holding.moved = self._now_ms(), 0
        del self._holdings[key]
        self._holdings[key] = holding
        if holding.is_listed:
            self._strike(key, holding)

    def _strike(self, key: Key, holding: _Holding) -> None:
        self._groups[holding.is_known].strike(key, holding.host)
        holding.is_listed = False

    def _count(self, key: Key, holding: _Holding, size: int) -> None:
        group, host = self._groups[holding.is_known], holding.host
        change, holding.size = size - holding.size, size
        self.total += change
        group.hosts.hold(host, group.hosts.bytes_of(host) + change)
        if size >= self._bounds.listed_min and not holding.is_listed:
            self._enlist(key, holding)
        elif size < self._bounds.listed_min and holding.is_listed:
            self._strike(key, holding)
        self._changed(holding.is_known, host, change, self.oldest_ms_of(holding.is_known, host))

    def _enlist(self, key: Key, holding: _Holding) -> None:
        """Add it behind the others: to be listed is progress."""
        holding.progress_ms, holding.is_listed = self._now_ms(), True
        self._holdings[key] = self._holdings.pop(key)
        self._groups[holding.is_known].enlist(key, holding.host)

    def is_listed(self, key: Key) -> bool:
        """Whether the connection holds so many bytes that closing it would help."""
        holding = self._holdings.get(key)
        return holding is not None and holding.is_listed

    def oldest_of(self, is_known: bool, host: Hashable) -> Key | None:
        """The listed connection of a host, known or not, without progress for the longest time."""
        return next(iter(self._groups[is_known].listed_of.get(host, ())), None)

    def oldest_ms_of(self, is_known: bool, host: Hashable) -> int:
        """Since when that is; 0 where there is none."""
        key = self.oldest_of(is_known, host)
        return 0 if key is None else self._holdings[key].progress_ms

    def first(self) -> Key | None:
        """The connection to be closed, if all together hold more than the limit."""
        if self.total <= self._bounds.total_max:
            return None
        group = self._groups[self._groups[True].hosts.total > self._bounds.total_max // 2]
        host, most = group.hosts.largest()
        of_host = group.listed_of.get(host, {}) if most > self._bounds.host_max else {}
        return next(iter(of_host or group.listed), None)

    def has_progress(self, key: Key, since_ms: int) -> bool:
        """Whether the connection holds nothing, or made progress since then."""
        holding = self._holdings.get(key)
        return holding is None or holding.progress_ms > since_ms

    def without_progress(self, since_ms: int, most: int) -> list[Key]:
        """Up to ``most`` connections that have made none since then, the longest without first."""
        first = islice(self._holdings.items(), most)
        return [key for key, holding in takewhile(lambda item: item[1].progress_ms <= since_ms, first)]

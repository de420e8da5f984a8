"""The undecoded frames that wait for control, by connection.

The frames of a connection are taken in their order. Hosts take turns by the time that they cost control, and so do
the connections of a host (`HostTurns`). So a peer waits for its own requests.

Java has a bounded queue for each of its two thread pools, for route lookups and for the rest. A frame whose queue is
full is refused: it waits for its turn like any other, and is then answered with OVERLOAD. A full queue still takes the
first request of each connection. Bytes are bounded by the reactors, which hand over no more.

Requests of a connection whose peer does not take its answers are parked: otherwise a few bytes of requests would become
gigabytes of answers.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field

from rocketns.access.classes import Access
from rocketns.config import Limits, NamesrvConfig
from rocketns.processor.requests import REQUESTS
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.connection import Connection
from rocketns.server.turns import HostTurns

UNKNOWN = -1
# Longer headers are not searched.
HEADER_BYTES_MAX = 4_096
_HEAD = 8
_CODE = re.compile(rb'"code":([0-9]{1,5})[,}]')

(_LOOKUP,) = (code for code, row in REQUESTS.items() if row.access is Access.LOOKUP)
_JSON_LOOKUP = b'"code":%d,' % _LOOKUP
_LOOKUP_ENDS = _HEAD + 256
_BINARY_LOOKUP = _LOOKUP.to_bytes(2, "big")


def header_end(frame: bytes | memoryview) -> int:
    """Where the header ends and the body begins. ``frame`` is whole, as `next_frame` found it."""
    return _HEAD + int.from_bytes(frame[5:8], "big")


def seems_lookup(frame: bytes | memoryview) -> bool:
    """Whether the frame is a route lookup as clients write it. It decides only the queue in which the frame counts."""
    if isinstance(frame, memoryview):  # far larger than a lookup
        return False
    return frame.find(_JSON_LOOKUP, _HEAD, _LOOKUP_ENDS) > 0 or frame.startswith(_BINARY_LOOKUP, _HEAD)


def request_code(frame: bytes | memoryview) -> int:
    """The code, or UNKNOWN. A returned code is right, unless the header is malformed or has no code.

    ``frame`` is whole, as `next_frame` found it.
    """
    end = header_end(frame)
    if frame[4] == SerializeType.ROCKETMQ:
        return int.from_bytes(frame[_HEAD : _HEAD + 2], "big", signed=True) if end >= _HEAD + 2 else UNKNOWN
    if end > HEADER_BYTES_MAX:
        return UNKNOWN
    header = bytes(frame[_HEAD:end])
    found = _CODE.search(header)
    # With two keys of that name, or one with escapes, only the decoder knows which one counts.
    if found is None or header.count(b"code") != 1 or b"\\" in header:
        return UNKNOWN
    return int(found[1])


# Gets an answer in its turn, None in place of one that was refused.
TakeAnswer = Callable[[bytes | memoryview | None], object]

ANY_SIZE = sys.maxsize
FRAME_COST_BYTES = 256  # added to the bytes of each waiting frame, as in the reactors
# Bytes of waiting frames. Beyond it a connection is read only while none of its frames waits.
WAITING_BYTES_MAX = 8 * 1024 * 1024


def waiting_bytes_max(limits: Limits) -> int:
    """WAITING_BYTES_MAX, or a quarter of ``incomingBytesMax`` if that is less."""
    return min(WAITING_BYTES_MAX, limits.incoming_bytes_max // 4)


@dataclass(slots=True)
class WaitingFrame:
    """One frame of ``size`` bytes. A refused one has only its header left. ``is_beyond_rate``: why it is refused.

    ``take``: it is no request but an answer, for this function. ``epoch``: in which a reactor handed it over; 0 where
    nobody waits for its effect any longer.
    """

    frame: bytes | memoryview
    size: int
    is_lookup: bool
    is_refused: bool
    is_beyond_rate: bool = False
    epoch: int = 0
    take: TakeAnswer | None = None
    is_released: bool = False

    def refuse(self) -> None:
        """Keep the header only, which is enough for SYSTEM_BUSY."""
        self.is_refused = True
        self.frame = bytes(self.frame[: header_end(self.frame)])

    def release(self, connection: Connection) -> None:
        """The frame leaves the inbox. One that is parked and put back is released when it is parked."""
        if not self.is_released:
            connection.release(self.size)
            self.is_released = True


class _Line:
    """The waiting frames of a connection, and their number in Java's queue for the rest [0] and for lookups [1]."""

    __slots__ = ("frames", "host", "is_known", "queued")

    def __init__(self, host: str, is_known: bool) -> None:
        self.host = host
        self.is_known = is_known
        self.frames: deque[WaitingFrame] = deque()
        self.queued = [0, 0]


class Inbox:
    """``bytes`` are those of all frames that wait."""

    def __init__(self, config: NamesrvConfig) -> None:
        self._capacities = (config.default_thread_pool_queue_capacity, config.client_request_thread_pool_queue_capacity)
        self._queued = [0, 0]
        self._lines: dict[Connection, _Line] = {}
        self._turns: HostTurns[Connection] = HostTurns()
        self._served: tuple[Connection, _Line] | None = None
        self._size = 0
        self.bytes = 0

    def __len__(self) -> int:
        return self._size

    def submit(
        self, connection: Connection, frame: bytes | memoryview, *, is_beyond_rate: bool = False, epoch: int = 0,
        take: TakeAnswer | None = None,
    ) -> bool:  # fmt: skip
        """Add a frame; False if it is refused. One beyond the rate of its host always is."""
        line = self._line_of(connection)
        waiting = WaitingFrame(frame, len(frame), seems_lookup(frame), False, is_beyond_rate, epoch, take)
        queue = waiting.is_lookup
        if is_beyond_rate or (line.queued[queue] and self._queued[queue] >= self._capacities[queue]):
            waiting.refuse()
        self._count(line, waiting, 1)
        line.frames.append(waiting)
        return not waiting.is_refused

    def put_back(self, connection: Connection, frames: list[WaitingFrame]) -> None:
        """Frames that were taken wait again, before the frames that came after them."""
        line = self._line_of(connection)
        for waiting in frames:
            self._count(line, waiting, 1)
        line.frames.extendleft(reversed(frames))

    def owe(self, connection: Connection, cost_ns: int) -> None:
        """Charge work outside of the turns to a connection whose frames wait."""
        line = self._lines[connection]
        self._turns.charge(connection, line.host, cost_ns, is_known=line.is_known)

    def _line_of(self, connection: Connection) -> _Line:
        """The connection's line; a new one wants turns."""
        line = self._lines.get(connection)
        if line is None:
            line = self._lines[connection] = _Line(connection.host, connection.is_known)
            self._turns.want(connection, line.host, is_known=line.is_known)
        return line

    def take(self) -> tuple[Connection, WaitingFrame]:
        """The frame whose turn it is. Call `charge` after serving it. IndexError if none waits."""
        connection = self._turns.next()
        line = self._lines[connection]
        waiting = line.frames.popleft()
        self._count(line, waiting, -1)
        self._served = connection, line
        self._leave_if_empty(connection, line)
        return connection, waiting

    def charge(self, cost_ns: int) -> None:
        """Charge the cost of the frame that was taken last."""
        if self._served is not None:
            connection, line = self._served
            self._turns.charge(connection, line.host, cost_ns, is_known=line.is_known)

    def drop(
        self, connection: Connection, keeps: Container[int] = (), kept_bytes_max: int = ANY_SIZE
    ) -> list[WaitingFrame]:
        """Remove and return the waiting frames of a connection, except requests of so many bytes with these codes."""
        line = self._lines.get(connection)
        if line is None:
            return []
        frames, line.frames = line.frames, deque()
        dropped = []
        for waiting in frames:
            if keeps and waiting.size <= kept_bytes_max and request_code(waiting.frame) in keeps:
                line.frames.append(waiting)
            else:
                dropped.append(waiting)
                self._count(line, waiting, -1)
        self._leave_if_empty(connection, line)
        return dropped

    def _leave_if_empty(self, connection: Connection, line: _Line) -> None:
        if not line.frames:
            del self._lines[connection]
            self._turns.withdraw(connection)

    def _count(self, line: _Line, waiting: WaitingFrame, step: int) -> None:
        self._size += step
        self.bytes += step * len(waiting.frame)
        if not waiting.is_refused:
            line.queued[waiting.is_lookup] += step
            self._queued[waiting.is_lookup] += step


@dataclass(slots=True)
class _ParkedFrames:
    """Of one connection. ``account``: its host, and whether a broker had registered from it at the first frame."""

    account: tuple[bool, str]
    frames: list[WaitingFrame] = field(default_factory=list)
    size: int = 0


class Parked:
    """Holds ``bytes`` of frames, where each counts FRAME_COST_BYTES more. Beyond ``bytes_max`` `first` is to be closed.

    The frames of a connection keep their order.
    """

    def __init__(self, bytes_max: int = ANY_SIZE) -> None:
        self._bytes_max = bytes_max
        self._parked: dict[Connection, _ParkedFrames] = {}  # the one that waits for longest first
        self._bytes_of: Counter[tuple[bool, str]] = Counter()
        self.bytes = 0

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._parked

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._parked)

    def park(self, connection: Connection, waiting: WaitingFrame) -> None:
        """Add a frame behind the others of its connection."""
        parked = self._parked.get(connection)
        if parked is None:
            parked = self._parked[connection] = _ParkedFrames((connection.is_known, connection.host))
        parked.frames.append(waiting)
        self._count(parked, waiting.size + FRAME_COST_BYTES)

    def take(self, connection: Connection) -> list[WaitingFrame]:
        """Remove and return all frames of a connection."""
        parked = self._parked.pop(connection, None)
        if parked is None:
            return []
        self._count(parked, -parked.size)
        if not self._bytes_of[parked.account]:
            del self._bytes_of[parked.account]
        return parked.frames

    def _count(self, parked: _ParkedFrames, change: int) -> None:
        parked.size += change
        self._bytes_of[parked.account] += change
        self.bytes += change

    def first(self) -> Connection | None:
        """The connection to be closed, if there are too many bytes: of the host with the most, the one whose frames
        wait for longest. Registered brokers' come first only if they hold more than half.
        """
        if self.bytes <= self._bytes_max:
            return None
        of_brokers = sum(size for (is_known, _), size in self._bytes_of.items() if is_known)
        is_known = of_brokers > self._bytes_max // 2
        largest = max((one for one in self._bytes_of if one[0] == is_known), key=self._bytes_of.__getitem__)
        return next(connection for connection, parked in self._parked.items() if parked.account == largest)

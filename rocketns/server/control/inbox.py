"""The undecoded frames that wait for control, by connection.

The frames of a connection are taken in their order. Hosts take turns by the time that they cost control, and so do
the connections of a host (`HostTurns`). So a peer waits for its own requests.

Java has a bounded queue for each of its two thread pools, for route lookups and for the rest. A frame whose queue is
full is refused: it waits for its turn like any other, and is then answered with OVERLOAD. A full queue still takes a
request of a connection of which no other one waits. Bytes are bounded by the reactors, which hand over no more.

Requests of a connection whose peer does not take its answers are parked: otherwise a few bytes of requests would become
gigabytes of answers. They wait on without turns, and count apart.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from itertools import takewhile

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
AnswerHandler = Callable[[bytes | memoryview | None], object]

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

    ``on_answer``: it is no request but an answer, for this function. ``is_awaited``: lookups
    may wait for its effect. ``is_released``: the reactor no longer counts it.
    """

    frame: bytes | memoryview
    size: int
    is_lookup: bool
    is_beyond_rate: bool = False
    is_awaited: bool = False
    on_answer: AnswerHandler | None = None
    is_refused: bool = False
    is_released: bool = False


@dataclass(slots=True)
class _Line:
    """The waiting frames of a connection, and their ``bytes`` with FRAME_COST_BYTES for each."""

    frames: deque[WaitingFrame] = field(default_factory=deque)
    bytes: int = 0


class Inbox:
    """``bytes`` are those of waiting frames, with FRAME_COST_BYTES for each; ``parked_bytes`` those of parked ones.

    ``turns`` has the connections whose frames wait for their turn, and are not paused or parked.
    """

    def __init__(self, config: NamesrvConfig) -> None:
        self._capacities = (config.default_thread_pool_queue_capacity, config.client_request_thread_pool_queue_capacity)
        self._queued = [0, 0]  # frames in Java's queue for the rest [0] and for lookups [1]
        self._lines: dict[Connection, _Line] = {}
        # Of these, the one that was parked first first: whether a broker had registered from it, and its host.
        self._parked: dict[Connection, tuple[bool, str]] = {}
        self._parked_of: Counter[tuple[bool, str]] = Counter()  # their bytes
        self.turns: HostTurns[Connection] = HostTurns()
        self._size = 0
        self.bytes = self.parked_bytes = 0

    def __len__(self) -> int:
        return self._size

    def submit(self, connection: Connection, waiting: WaitingFrame) -> bool:
        """Add a frame. It is refused if its queue is full, or if it is beyond the rate of its host.

        Returns whether the connection's frames are parked: then call `park` again.
        """
        line = self._lines.get(connection)
        if line is None:
            line = self._lines[connection] = _Line()
            self.turns.want(connection, connection.host, is_broker=connection.is_broker)
        queue = waiting.is_lookup
        if waiting.is_beyond_rate or (line.frames and self._queued[queue] >= self._capacities[queue]):
            waiting.is_refused = True
            waiting.frame = bytes(waiting.frame[: header_end(waiting.frame)])  # enough for SYSTEM_BUSY
        line.frames.append(waiting)
        self._count(connection, line, waiting, 1)
        return connection in self._parked

    def next(self) -> tuple[Connection, WaitingFrame]:
        """The frame whose turn it is. ``turns.charge`` ends the turn. IndexError if none waits for one."""
        connection = self.turns.next()
        return connection, self._lines[connection].frames[0]

    def remove_first(self, connection: Connection) -> None:
        """The connection's first frame is served."""
        line = self._lines[connection]
        self._count(connection, line, line.frames.popleft(), -1)
        self._leave_if_empty(connection, line)

    def pause(self, connection: Connection) -> None:
        """The connection's frames take no turns until `resume_paused`."""
        self.turns.withdraw(connection)

    def park(self, connection: Connection) -> list[WaitingFrame]:
        """The connection's frames take no turns until `resume`. Returns those that a reactor still counts."""
        line = self._lines[connection]
        self.turns.withdraw(connection)
        if connection not in self._parked:
            self._parked[connection] = connection.is_broker, connection.host
            self.bytes -= line.bytes
            self._count_parked(connection, line.bytes)
        counted = list(takewhile(lambda waiting: not waiting.is_released, reversed(line.frames)))
        for waiting in counted:
            self._queued[waiting.is_lookup] -= not waiting.is_refused
            waiting.is_released = True
        return counted

    def resume(self, connection: Connection) -> None:
        """Frames that were parked take turns again."""
        if connection in self._parked:
            line = self._lines[connection]
            self.bytes += line.bytes
            self._count_parked(connection, -line.bytes)
            del self._parked[connection]
            self.turns.want(connection, connection.host, is_broker=connection.is_broker)

    def resume_paused(self) -> None:
        """Frames of all connections take turns again, but parked ones."""
        for connection in self._lines.keys() - self._parked:
            self.turns.want(connection, connection.host, is_broker=connection.is_broker)

    def parked_longest(self) -> Connection:
        """The connection to be closed when too many bytes are parked: of the host with the most, the one that was
        parked first. Registered brokers' come first only if they hold more than half.
        """
        sizes = self._parked_of
        of_brokers = sum(size for (is_broker, _), size in sizes.items() if is_broker)
        is_broker = of_brokers * 2 > self.parked_bytes
        largest = max((account for account in sizes if account[0] == is_broker), key=sizes.__getitem__)
        return next(one for one, account in self._parked.items() if account == largest)

    def drop(
        self, connection: Connection, spared: Container[int] = (), spared_bytes_max: int = ANY_SIZE
    ) -> list[WaitingFrame]:
        """Remove and return the waiting frames of a connection, except requests of so many bytes with these codes."""
        line = self._lines.get(connection)
        if line is None:
            return []
        frames, line.frames = line.frames, deque()
        dropped = []
        for waiting in frames:
            if spared and waiting.size <= spared_bytes_max and request_code(waiting.frame) in spared:
                line.frames.append(waiting)
            else:
                dropped.append(waiting)
                self._count(connection, line, waiting, -1)
        self._leave_if_empty(connection, line)
        return dropped

    def _leave_if_empty(self, connection: Connection, line: _Line) -> None:
        if not line.frames:
            del self._lines[connection]
            self._parked.pop(connection, None)
            self.turns.withdraw(connection)

    def _count(self, connection: Connection, line: _Line, waiting: WaitingFrame, step: int) -> None:
        size = step * (len(waiting.frame) + FRAME_COST_BYTES)
        self._size += step
        line.bytes += size
        if connection in self._parked:
            self._count_parked(connection, size)
        else:
            self.bytes += size
        if not waiting.is_refused and not waiting.is_released:
            self._queued[waiting.is_lookup] += step

    def _count_parked(self, connection: Connection, change: int) -> None:
        account = self._parked[connection]
        self.parked_bytes += change
        self._parked_of[account] += change
        if not self._parked_of[account]:
            del self._parked_of[account]

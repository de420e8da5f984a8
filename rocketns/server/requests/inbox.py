"""The undecoded frames that wait for control, by connection.

The frames of a connection are taken in their order. Hosts take turns by the time that each has cost control so far, and
so do the connections of a host (`Turns`). So a peer waits for its own requests, and more connections give a host no
more time. The host is that of the socket: a PROXY header, which any peer can send, gives turns only within it.

Java has a bounded queue for each of its two thread pools, for route lookups and for the rest. A frame whose queue is
full is refused: it waits for its turn like any other, and is then answered with OVERLOAD. A full queue still takes the
first request of each connection. Over the limit of bytes frames are refused: of the host that holds the most, and there
of the connection that holds the most. Those of registered brokers come last, up to half of the limit.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Container, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from rocketns.config import Limits, NamesrvConfig
from rocketns.server.requests import peek
from rocketns.server.requests.host_turns import HostTurns
from rocketns.server.requests.largest import LargestByHost
from rocketns.server.requests.turns import Turns

Key = TypeVar("Key", bound=Hashable)

ANY_SIZE = sys.maxsize
FRAME_COST_BYTES = 256  # added to the bytes of each waiting frame, as in the reactors
# Bytes of waiting frames. Beyond it a connection is read only while none of its frames waits.
WAITING_BYTES_MAX = 8 * 1024 * 1024
# Only connections whose frames hold so much are compared when there are too many bytes.
COMPARED_BYTES = 4 * 1024
# A connection that still holds so much when its frames are refused is closed.
LARGE_BYTES = 64 * 1024
# The expected cost of a request. It decides only the order within a round: the measured cost is charged.
REQUEST_COST_NS = 20_000
BYTE_COST_NS = 4
# The length of a connection's turn.
QUANTUM_NS = 200_000


def waiting_bytes_max(limits: Limits) -> int:
    """WAITING_BYTES_MAX, or a quarter of ``incomingBytesMax`` if that is less."""
    return min(WAITING_BYTES_MAX, limits.incoming_bytes_max // 4)


@dataclass(slots=True)
class Waiting:
    """One frame of ``size`` bytes. A refused one has only its header left. ``is_beyond_rate``: why it is refused.

    ``release`` is called with the size, once, when the frame leaves the inbox for the first time. ``take``: it is no
    request but an answer, for this function; None in place of one that was refused. ``epoch``: in which a
    reactor handed it over; 0 where nobody waits for its effect any longer.
    """

    frame: bytes | memoryview
    size: int
    is_lookup: bool
    is_refused: bool
    release: Callable[[int], object] | None = None
    take: Callable[[bytes | memoryview | None], object] | None = None
    is_beyond_rate: bool = False
    epoch: int = 0

    def refuse(self) -> None:
        """Keep the header only, which is enough for SYSTEM_BUSY."""
        self.is_refused = True
        self.frame = bytes(self.frame[: peek.header_end(self.frame)])

    def release_once(self) -> None:
        """A frame that is parked and put back is released when it is parked."""
        if self.release is not None:
            self.release(self.size)
            self.release = None


class _Line(Generic[Key]):
    """The waiting frames of a connection, and their number in Java's queue for the rest [0] and for lookups [1]."""

    __slots__ = ("bytes", "frames", "host", "is_known", "key", "owed_ns", "place", "queued", "turns")

    def __init__(self, key: Key, place: tuple[str, str], is_known: bool, turns: HostTurns[Key]) -> None:
        self.key = key
        self.place = place
        self.host = place[0]
        self.is_known = is_known
        self.turns = turns
        self.frames: deque[Waiting] = deque()
        self.queued = [0, 0]
        self.bytes = 0
        self.owed_ns = 0

    def want_turn(self) -> None:
        """Queue the connection for a turn, when its first frame arrives."""
        self.turns.want(self.key, self.place, REQUEST_COST_NS + BYTE_COST_NS * self.frames[0].size)


class Inbox(Generic[Key]):
    """Holds ``bytes_max``, whatever room the queues have.

    ``place_of`` gives a connection's socket host, and the host that it announced or that of the socket again.
    ``give_up`` is called with a connection whose refused frames hold too much. It must `drop` them.
    """

    def __init__(
        self, config: NamesrvConfig, bytes_max: int, place_of: Callable[[Key], tuple[str, str]],
        give_up: Callable[[Key], object], is_known: Callable[[Key], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        self._capacities = (config.default_thread_pool_queue_capacity, config.client_request_thread_pool_queue_capacity)
        self._queued = [0, 0]
        self._bytes_max = bytes_max
        self._place_of = place_of
        self._give_up = give_up
        self._is_known = is_known
        self._lines: dict[Key, _Line[Key]] = {}
        self._compared: tuple[LargestByHost[Key], LargestByHost[Key]] = (LargestByHost(), LargestByHost())
        self._turns: Turns[Key] = Turns()
        self._serving: Key | None = None
        self._is_taken = False
        self._spent_ns = 0
        self._size = 0
        self.bytes = 0

    def __len__(self) -> int:
        return self._size

    def submit(
        self, key: Key, frame: bytes | memoryview, release: Callable[[int], object] | None = None,
        take: Callable[[bytes | memoryview | None], object] | None = None,
        *, is_beyond_rate: bool = False, epoch: int = 0,
    ) -> bool:  # fmt: skip
        """Add a frame; False if it is refused. One beyond the rate of its host always is."""
        line, is_new = self._line_of(key)
        waiting = Waiting(frame, len(frame), peek.seems_lookup(frame), False, release, take, is_beyond_rate, epoch)
        if is_beyond_rate or not self._has_place(line, waiting):
            waiting.refuse()
        has_room = self._make_room(line, len(waiting.frame))
        if not has_room:
            waiting.refuse()
        self._count(line, waiting, 1)
        line.frames.append(waiting)
        if is_new:
            line.want_turn()
        if not has_room and len(waiting.frame) > peek.HEADER_BYTES_MAX:
            self._give_up(key)
        return not waiting.is_refused

    def put_back(self, key: Key, frames: list[Waiting]) -> None:
        """Frames that were taken wait again, before the frames that came after them."""
        line, is_new = self._line_of(key)
        for waiting in frames:
            self._count(line, waiting, 1)
        line.frames.extendleft(reversed(frames))
        if is_new:
            line.want_turn()

    def owe(self, key: Key, cost_ns: int) -> None:
        """Charge work outside of the turns to a connection whose frames wait. It counts with its next turn."""
        self._lines[key].owed_ns += cost_ns

    def _line_of(self, key: Key) -> tuple[_Line[Key], bool]:
        """The connection's line, and whether it is new: then it does not want a turn yet."""
        line = self._lines.get(key)
        if line is not None:
            return line, False
        is_known = self._is_known(key)
        line = self._lines[key] = _Line(key, self._place_of(key), is_known, self._turns.of(is_known))
        return line, True

    def take(self) -> tuple[Key, Waiting]:
        """The frame whose turn it is. Call `charge` after serving it."""
        key = self._serving
        if key is None:
            key = self._serving = self._turns.next()
            self._spent_ns = 0
        line = self._lines[key]
        waiting = line.frames.popleft()
        self._count(line, waiting, -1)
        self._is_taken = True
        return key, waiting

    def charge(self, cost_ns: int) -> None:
        """Charge the cost of the frame that was taken last."""
        self._spent_ns += cost_ns
        self._is_taken = False
        key = self._serving
        if key is not None and (self._spent_ns >= QUANTUM_NS or not self._lines[key].frames):
            self._settle(key)

    def _settle(self, key: Key) -> None:
        """The turn of a connection is over."""
        line = self._lines[key]
        self._serving = None
        cost_ns, line.owed_ns = self._spent_ns + line.owed_ns, 0
        if line.frames:
            line.turns.charge(key, line.place, cost_ns, True)
            line.want_turn()
        else:
            del self._lines[key]
            line.turns.charge(key, line.place, cost_ns)
        self._turns.charge(line.is_known, cost_ns)

    def drop(self, key: Key, keeps: Container[int] = (), kept_bytes_max: int = ANY_SIZE) -> list[Waiting]:
        """Remove and return the waiting frames of a connection, except requests of so many bytes with these codes."""
        line = self._lines.get(key)
        if line is None:
            return []
        frames, line.frames = line.frames, deque()
        dropped = []
        for waiting in frames:
            if keeps and waiting.size <= kept_bytes_max and peek.request_code(waiting.frame) in keeps:
                line.frames.append(waiting)
            else:
                dropped.append(waiting)
                self._count(line, waiting, -1)
        if not line.frames and key != self._serving:
            del self._lines[key]
            line.turns.withdraw(key, line.place)
        elif not line.frames and not self._is_taken:
            self._settle(key)
        return dropped

    def _has_place(self, line: _Line[Key], waiting: Waiting) -> bool:
        queue = waiting.is_lookup
        return not line.queued[queue] or self._queued[queue] < self._capacities[queue]

    def _make_room(self, line: _Line[Key], size: int) -> bool:
        """Refuse frames of those that hold more. False if this connection's are to be refused."""
        while self.bytes + size > self._bytes_max:
            largest = self._to_refuse(line, size)
            if largest is None:
                return False
            self._refuse_all(largest)
        return True

    def _to_refuse(self, line: _Line[Key], size: int) -> Key | None:
        """The key whose frames are refused if this connection adds so many bytes. None: its own are."""
        is_known = self._compared[True].hosts.total > self._bytes_max // 2
        compared = self._compared[is_known]
        host, most = compared.hosts.largest()
        is_among = line.is_known == is_known
        if is_among and compared.hosts.bytes_of(line.host) + size >= most:
            host = line.host
        key, most = (None, 0) if host is None else compared.largest_of(host)
        is_own = is_among and host == line.host and most <= line.bytes + size
        return None if is_own else key

    def _refuse_all(self, key: Key) -> None:
        line = self._lines[key]
        before = line.bytes
        for waiting in line.frames:
            self._count(line, waiting, -1)
            waiting.refuse()
            self._count(line, waiting, 1)
        if line.bytes >= LARGE_BYTES or line.bytes == before:
            self._give_up(key)

    def _count(self, line: _Line[Key], waiting: Waiting, step: int) -> None:
        size = step * len(waiting.frame)
        self._size += step
        self.bytes += size
        line.bytes += size
        if line.bytes >= COMPARED_BYTES or line.bytes - size >= COMPARED_BYTES:
            compared = self._compared[line.is_known]
            compared.hold(line.key, line.host, line.bytes if line.bytes >= COMPARED_BYTES else 0)
        if not waiting.is_refused:
            line.queued[waiting.is_lookup] += step
            self._queued[waiting.is_lookup] += step

"""A loop whose clock jumps to the next timer, and a name server, a journal and a fleet that a test decides."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Collection, Container, Iterable
from typing import Any, cast

from rocketns.client.name_server import Fields, NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.observed_journal import ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.collect.upstream import CollectedServer, Pace, Phase
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import Event
from tests.tools.scripted import Scripted

ROUND_S = 1e-6  # that a round of the loop takes
BEGAN_S, EPOCH_MS = 1_000.0, 1_700_000_000_000
PACE = Pace(5.0, 50)


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting it moves the clock."""

    def __init__(self, loop: VirtualTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits, and nothing will ever happen"
        self._loop.now_s += max(timeout, ROUND_S)
        return super().select(0)


class VirtualTime(asyncio.SelectorEventLoop):
    """``now_s`` is its clock."""

    def __init__(self) -> None:
        self.now_s = BEGAN_S
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now_s


def now_ms() -> int:
    """The wall clock of the running loop: it goes with the loop's."""
    return EPOCH_MS + round((asyncio.get_running_loop().time() - BEGAN_S) * 1000)


class Server:
    """A name server whose answers travel for ``latency_s``; ``latencies`` has those of some codes. ``failing``: what it
    raises instead. ``asked``: when, which code, and which topic or namespace. ``at_once_max``: the most requests that
    it had at a time.
    """

    def __init__(self, script: Scripted, latency_s: float = 0.001) -> None:
        self.addr = "10.0.0.1:9876"
        self.script = script
        self.latency_s = latency_s
        self.latencies: dict[int, float] = {}
        self.failing = ""
        self.asked: list[tuple[float, int, str]] = []
        self.disconnects = self.at_once = self.at_once_max = 0

    async def ask(
        self, code: int, fields: Fields, also: Container[int] | None = (), bytes_max: int | None = None
    ) -> RemotingCommand:
        assert also is None
        assert bytes_max
        name = fields.get("topic") or fields.get("namespace") or ""
        self.asked.append((asyncio.get_running_loop().time(), code, name))
        status, body = self.script.answer(RemotingCommand(code, 513, 1, 0, fields, None))
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        try:
            await asyncio.sleep(self.latencies.get(code, self.latency_s))
        finally:
            self.at_once -= 1
        if self.failing:
            raise UnusableError(self.failing)
        return RemotingCommand(status, 513, 1, 1, None, body)

    def disconnect(self) -> None:
        self.disconnects += 1

    def topics_asked(self, since_s: float = 0.0) -> list[str]:
        return [name for at_s, code, name in self.asked if code == 105 and at_s >= since_s]


class Notes:
    """An `ObservedJournal` that keeps what it is told, with seconds since the beginning instead of epoch ms."""

    def __init__(self, known_s: float | None = None, looked_s: float = 0.0) -> None:
        self.observed = Observed()
        self.known_ms = None if known_s is None else EPOCH_MS + int(known_s * 1000)
        self.looked_ms = EPOCH_MS + int(looked_s * 1000)
        self.begun: list[tuple[float, bool]] = []
        self.looked: list[Callable[[], int] | None] = []
        self.ended: list[tuple[float, float]] = []
        self.events: list[tuple[Event, float, float]] = []  # with since and ts

    def resumes(self, epoch_ms: int) -> bool:
        return self.known_ms is not None and epoch_ms - self.known_ms <= 3_600_000

    def restore(self, _epoch_ms: int) -> tuple[int, int] | None:
        return None if self.known_ms is None else (self.known_ms, self.looked_ms)

    def begin(self, epoch_ms: int, looked: Callable[[], int] | None, *, restored: bool) -> None:
        assert len(self.begun) == len(self.ended)
        self.begun.append((seconds(epoch_ms), restored))
        self.looked.append(looked)

    def record(self, events: list[Event], epoch_ms: int, since_ms: int) -> None:
        assert len(self.begun) > len(self.ended)
        assert since_ms <= epoch_ms
        self.events += [(event, seconds(since_ms), seconds(epoch_ms)) for event in events]

    def end(self, epoch_ms: int, since_ms: int) -> None:
        self.ended.append((seconds(epoch_ms), seconds(since_ms)))
        self.known_ms = None if self.looked[-1] is None else since_ms


def seconds(epoch_ms: int) -> float:
    return (epoch_ms - EPOCH_MS) / 1000


class Other:
    """Another name server: ``brokers`` has the topics that it shows of each, ``told`` what it was told."""

    def __init__(self) -> None:
        self.brokers: dict[str, list[str]] = {}
        self.told: list[str] = []

    def topics_of(self, broker_name: str) -> Iterable[str]:
        return self.brokers.get(broker_name, ())

    def look_at(self, topics: Collection[str]) -> None:
        self.told += topics


class Bench:
    """One upstream of a scripted name server, on virtual time; used as a context manager it watches. Its clock is
    ``now_s``, from 0.
    """

    def __init__(self, script: Scripted, pace: Pace = PACE, *, notes: Notes | None = None,
                 asking: RemotingClient | None = None) -> None:  # fmt: skip
        self.server, self.notes, self.other = Server(script), notes or Notes(), Other()
        self.observed = self.notes.observed
        self._pace, self._asking = pace, asking

    async def __aenter__(self) -> Bench:
        self.upstream = CollectedServer(
            "a", cast(NameServer, self.server), cast(ObservedJournal, self.notes), self._pace,
            [cast(CollectedServer, self.other)], now_ms, self._asking,
        )  # fmt: skip
        self.upstream.restore()
        self._watching = asyncio.create_task(self.upstream.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        await asyncio.wait((self._watching,))
        assert self._watching.cancelled(), self._watching.exception()

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time() - BEGAN_S

    def requests(self, code: int) -> list[float]:
        """When requests of this code were sent."""
        return [at_s - BEGAN_S for at_s, one, _ in self.server.asked if one == code]

    def told(self, kind: type[Event]) -> list[tuple[Any, float, float]]:
        """Events of a kind in the journal, each with since and ts."""
        return [one for one in self.notes.events if isinstance(one[0], kind)]


def script() -> Scripted:
    """Two brokers, two topics and an item."""
    return Scripted({"a": "10.0.0.1:1", "b": "10.0.0.2:1"}, {"T": {"a": {}, "b": {}}, "U": {"b": {}}}, {"T": "a:4"})


async def watched(bench: Bench) -> None:
    """Until everything was read, and a while."""
    await asyncio.sleep(12)
    assert bench.upstream.phase is Phase.WATCHED

"""The relay's end of the judge: pairs go to its process as far as that takes them, and its counts come back."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence

from rocketns.shadow.children import Child, ChildLines, Process, spawned
from rocketns.shadow.pairs import NOTICE, Pair, packed

# Pairs that the judge has not taken; further ones are skipped.
WAITING_BYTES_MAX = 64 * 1024 * 1024
# After the end of its process: until what it told at last is read.
CLOSED_WITHIN_S = 2.0


class JudgeLink(asyncio.Protocol):
    """The relay calls `send`. ``heard`` gets the bytes that the judge sends, ``began`` is called at each start."""

    def __init__(self, command: Sequence[str], heard: Callable[[bytes], None], began: Callable[[], None]) -> None:
        self._command, self._heard, self._began = tuple(command), heard, began
        self._transport: asyncio.Transport | None = None
        self._child = Child("the judge", self._spawn, ChildLines("judge").log)
        self._task: asyncio.Task[None] | None = None
        self._untold = self._lost = 0
        self._closed = asyncio.Event()

    def start(self) -> None:
        """On the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._child.run())

    def kill(self) -> None:
        """End it at once; it is started again."""
        self._child.kill()

    def send(self, pair: Pair) -> bool:
        """Whether there was room for a pair that is `bounded`."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > WAITING_BYTES_MAX:
            return False
        transport.write(packed(pair))
        self._untold += pair.connection != NOTICE
        return True

    def note_told(self, number: int) -> None:
        """The judge told what became of so many pairs."""
        self._untold -= number

    def take_lost(self) -> int:
        """Pairs that a judge had when it ended, and of which it told nothing; since the last call."""
        lost, self._lost = self._lost, 0
        return lost

    async def _spawn(self) -> Process:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with its:
            ours.setblocking(False)
            process = await spawned(self._command, its.fileno())
        await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)
        return process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._closed.clear()
        self._began()

    def data_received(self, data: bytes) -> None:
        self._heard(data)

    def connection_lost(self, _error: Exception | None) -> None:
        """Behind what it told at last, which may be read only after the end of its process."""
        self._transport = None
        self._lost += self._untold
        self._untold = 0
        self._closed.set()

    async def finish(self, within_s: float) -> None:
        """End it: it judges what it has, and tells its last counts."""
        self._child.stop_after_this()
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=within_s)
            if not done:
                self._child.kill()
                await self._task
        if self._transport is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), CLOSED_WITHIN_S)

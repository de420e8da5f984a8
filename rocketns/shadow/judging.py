"""The relay's end of the judge: pairs go to its process as far as that takes them, and its counts come back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence

from rocketns.shadow.children import Child, ChildLines, Process, spawned
from rocketns.shadow.pairs import Pair, packed

# Pairs that the judge has not taken; further ones are skipped.
WAITING_BYTES_MAX = 64 * 1024 * 1024


class JudgeLink(asyncio.Protocol):
    """The relay calls `send`. ``heard`` gets the bytes that the judge sends, ``began`` is called at each start."""

    def __init__(self, command: Sequence[str], heard: Callable[[bytes], None], began: Callable[[], None]) -> None:
        self._command, self._heard, self._began = tuple(command), heard, began
        self._transport: asyncio.Transport | None = None
        self._child = Child("the judge", self._spawn, ChildLines("judge").log, self._ended)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """On the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._child.run())

    @property
    def pid(self) -> int | None:
        """Of its process."""
        return None if self._child.process is None else self._child.process.pid

    def kill(self) -> None:
        """End it at once; it is started again."""
        self._child.kill()

    def send(self, pair: Pair) -> bool:
        """Whether there was room for a pair that is `bounded`."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > WAITING_BYTES_MAX:
            return False
        transport.write(packed(pair))
        return True

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
        self._began()

    def data_received(self, data: bytes) -> None:
        self._heard(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None

    def _ended(self) -> None:
        if self._transport is not None:
            self._transport.abort()

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

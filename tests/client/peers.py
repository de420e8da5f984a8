"""Peers that the client connects to: sockets in the same event loop that keep the received bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from interop.harness.wire import frame, json_header
from rocketns.client.reach import ReachRules
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Limits
from rocketns.protocol.command import RemotingCommand, decode
from tests.server.tls_configs import config

WAIT_S = 60.0
HERE = "127.0.0.1"
CLOSED = f"{HERE}:1"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Peer:
    """The accepted connections and the bytes received over them."""

    def __init__(self, serve: Serve | None = None) -> None:
        self.connections: list[asyncio.StreamWriter] = []
        self.received = bytearray()
        self.addr = ""
        self._serve = serve or self.read
        self._more = asyncio.Event()

    async def read(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            self.received += data
            self._more.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        self._more.set()
        with suppress(ConnectionError):  # the client reset it
            await self._serve(reader, writer)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is checked whenever something arrives."""
        while not condition():
            self._more.clear()
            await asyncio.wait_for(self._more.wait(), WAIT_S)


@asynccontextmanager
async def peer(serve: Serve | None = None) -> AsyncIterator[Peer]:
    """A listening socket; ``serve`` handles its connections instead of only reading."""
    one = Peer(serve)
    server = await asyncio.start_server(one.accept, "127.0.0.1", 0)
    one.addr = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        server.close()
        for writer in one.connections:
            writer.close()


def serving(answer: Callable[[RemotingCommand], bytes]) -> Serve:
    """Sends what ``answer`` makes of each request, which may be nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.read(4):
            writer.write(answer(decode(size + await reader.readexactly(int.from_bytes(size)))))

    return serve


def answer(request: RemotingCommand, code: int, body: bytes = b"") -> bytes:
    return frame(json_header(code, opaque=request.opaque, flag=1), body)


@asynccontextmanager
async def remoting(connect_timeout_s: float = WAIT_S, **limits: int) -> AsyncIterator[RemotingClient]:
    """A client of the running loop. ``limits`` are attributes of `Limits`."""
    client = RemotingClient(config, connect_timeout_s, limits=Limits(**limits), reach=ReachRules())
    try:
        async with asyncio.timeout(100):
            yield client
    finally:
        client.close()

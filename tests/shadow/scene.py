"""A relay on an event loop in a thread, between clients and two servers that the test plays."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from interop.harness.wire import eventually, frame, json_header
from rocketns.shadow.pairs import Pair
from rocketns.shadow.relay.ends import PlainClient
from rocketns.shadow.relay.frames import BufferBudget
from rocketns.shadow.relay.relay import Relay, Upstream

WITHIN_S = 60.0


# Four sockets of loopback may hold 20 MiB.
OFFERED_BYTES, STUCK_BYTES_MAX = 128 * 1024 * 1024, 64 * 1024 * 1024
FRAME_BYTES_MAX = 16 * 1024 * 1024
_opaques = itertools.count(1)


def request(opaque: int | None = None, code: int = 105, flag: int = 0, size: int = 0) -> bytes:
    """A request frame with a body of so many bytes."""
    chosen = next(_opaques) if opaque is None else opaque
    return frame(json_header(code, {"topic": "T"}, opaque=chosen, flag=flag), b"r" * size)


def answer(opaque: int, body: bytes = b"same") -> bytes:
    """An answer frame."""
    return frame(json_header(0, opaque=opaque, flag=1), body)


class Peer:
    """One end of a connection that the test plays."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        sock.settimeout(WITHIN_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, size: int) -> bytes:
        """Exactly so many bytes, or what came before the end."""
        data = b""
        while len(data) < size and (more := self.socket.recv(min(1 << 20, size - len(data)))):
            data += more
        return data

    def expect(self, data: bytes) -> None:
        """These bytes are the next ones."""
        assert self.read(len(data)) == data

    def ends(self) -> bool:
        """Whether the next thing is the end of the stream."""
        return self.socket.recv(1) == b""

    def is_reset(self) -> bool:
        """Whether the next thing is a reset."""
        try:
            return self.socket.recv(1) == b"no"
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        self.socket.close()


def asked(client: Peer, server: Peer, data: bytes) -> None:
    """Requests that the relay has passed on: before that it may read an answer first, on its other connection."""
    client.send(data)
    server.expect(data)


def passed(client: Peer, up: Peer, opaque: int = 7) -> None:
    """A request that the upstream answers. What the half does with it is the test's."""
    asked(client, up, request(opaque))
    up.send(answer(opaque))
    client.expect(answer(opaque))


def left(client: Peer, up: Peer) -> None:
    """The client ends the connection, and the upstream ends it for that."""
    client.close()
    assert up.ends()
    up.close()


class Server:
    """A listening socket; the test plays each connection."""

    def __init__(self, port: int = 0) -> None:
        self._listening = socket.create_server(("127.0.0.1", port), backlog=64)
        self._listening.settimeout(WITHIN_S)
        self.port: int = self._listening.getsockname()[1]

    def accept(self) -> Peer:
        return Peer(self._listening.accept()[0])

    def close(self) -> None:
        self._listening.close()


class Half:
    """What a relay asks of the own half, as the test wants it."""

    def __init__(self, port: int | None) -> None:
        self.port = port
        self.unsettled: list[str] = []

    def unsettle(self, why: str) -> None:
        self.unsettled.append(why)


class Scene:
    """``up`` and ``own`` are the servers. `advance` moves the relay's clock, and nothing else does."""

    def __init__(self, budget: BufferBudget | None = None, **options: Any) -> None:
        self.up, self.own = Server(), Server()
        self.half = Half(self.own.port)
        self.judged: list[Pair] = []  # pairs of answers that differ
        self._now_s = 1000.0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._peers: list[Peer] = []
        self._budget, self._options = budget, options
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(WITHIN_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        upstream = Upstream("127.0.0.1", self.up.port)
        self.relay = Relay(upstream, self.half, self._judge, frame_bytes_max=FRAME_BYTES_MAX,
                           connections_max=100, budget=self._budget, now=self._now, **self._options)  # fmt: skip
        self.relay.start()
        self._server = await self._loop.create_server(lambda: PlainClient(self.relay), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def _judge(self, pair: Pair) -> bool:
        if pair.upstream != pair.own:  # the first pair of a connection comes too
            self.judged.append(pair)
        return True

    def _now(self) -> float:
        return self._now_s

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call it on the relay's loop."""

        async def run() -> Any:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(WITHIN_S)

    def advance(self, seconds: float) -> None:
        """So much time passes, after what the relay does now."""
        self.call(lambda: None)
        self._now_s += seconds
        self.call(self.relay.tick)

    def sent_until_stopped(self, peer: Peer, frame: bytes, stops: str) -> int:
        """How many bytes of such frames are taken until the relay stops reading this leg of its only session."""
        (session,) = self.relay.sessions
        transport = getattr(session, stops).transport
        peer.socket.setblocking(False)
        sent = 0
        while sent < OFFERED_BYTES:
            try:
                sent += peer.socket.send(memoryview(frame)[sent % len(frame) :])
            except BlockingIOError:
                if not self.call(transport.is_reading):
                    break
        peer.socket.settimeout(WITHIN_S)
        return sent

    def connect(self) -> Peer:
        """A client."""
        peer = Peer(socket.create_connection(("127.0.0.1", self.port), WITHIN_S))
        self._peers.append(peer)
        return peer

    def connected(self) -> tuple[Peer, Peer, Peer]:
        """A client with its connections at both servers, after one request that both have answered alike."""
        client = self.connect()
        up = self.up.accept()
        first = request(opaque := next(_opaques))
        client.send(first)
        up.expect(first)
        own = self.own.accept()
        own.expect(first)
        before = self.counts.equal
        own.send(answer(opaque))
        up.send(answer(opaque))
        client.expect(answer(opaque))
        eventually(lambda: self.counts.equal > before)
        self._peers += [up, own]
        return client, up, own

    @property
    def counts(self) -> Any:
        return self.relay.counts

    def close(self) -> None:
        for peer in self._peers:
            peer.close()
        self.call(self.relay.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WITHIN_S)
        self.up.close()
        self.own.close()

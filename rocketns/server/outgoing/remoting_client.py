"""Connections that the name server opens itself (NettyRemotingClient): one for each address, kept and reused.

Used for min-broker-id notifications, whose receivers' addresses come from registrations, and for lookups in the
cluster-test mode. No caller waits: a frame that cannot be sent is dropped and logged.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable

from rocketns._fast.codec.wire import next_frame
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.config.tls import TlsConfig
from rocketns.errors import MalformedFrame, RocketnsError
from rocketns.javatext import parse_int
from rocketns.protocol import command
from rocketns.protocol.command import RemotingCommand
from rocketns.server.tls.client import client_context

log = logging.getLogger("rocketns.client")

CONNECT_TIMEOUT_S = 3.0  # com.rocketmq.remoting.client.connect.timeout
IDLE_S = 120.0  # clientChannelMaxIdleTimeSeconds
CONNECTIONS_MAX = 1024
UNSENT_FRAMES_MAX = 256
UNSENT_BYTES_MAX = 1024 * 1024


class NotSentError(RocketnsError):
    """A request could not be sent, or was not answered in time."""


class _Connection(asyncio.Protocol):
    """Open or opening; frames wait while it opens. Answers are matched by their opaque."""

    def __init__(self, client: RemotingClient, addr: str) -> None:
        self._client = client
        self._addr = addr
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._buffer = bytearray()
        self.answers: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._reason = ""

    def send(self, frame: bytes) -> bool:
        """Whether there was room for the frame."""
        self._restart_idle_timer()
        if self._transport is None:
            if len(self._unsent) >= UNSENT_FRAMES_MAX:
                return False
            self._unsent.append(frame)
            return True
        if self._transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            return False
        self._transport.write(frame)
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        self._restart_idle_timer()
        self._buffer += data
        while (size := next_frame(self._buffer, 0, self._client.answer_bytes_max)) > 0:
            frame = bytes(self._buffer[:size])
            del self._buffer[:size]
            self._receive(frame)
        if size < 0:
            self.close(f"the connection to {self._addr} ended: an answer is no frame, or too large")

    def _receive(self, frame: bytes) -> None:
        try:
            answer = command.decode(frame)
        except MalformedFrame:
            self.close(f"the connection to {self._addr} ended: an answer is no frame")
            return
        waiting = self.answers.pop(answer.opaque, None) if answer.is_response else None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost(self._reason)

    def lost(self, reason: str = "") -> None:
        """Forget the connection, and fail the requests that wait for its answers."""
        self._client.forget(self._addr, self)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for waiting in self.answers.values():
            if not waiting.done():
                waiting.set_exception(NotSentError(reason or f"the connection to {self._addr} ended"))
        self.answers.clear()

    def _restart_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(IDLE_S, self.close)

    def close(self, reason: str = "") -> None:
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()


class RemotingClient:
    """Runs on the event loop's thread. ``read_tls`` gives the TLS properties, ``failures`` is the log level of failures
    to connect.

    A peer that sends an answer of more than ``answer_bytes_max`` is disconnected.
    """

    def __init__(
        self, read_tls: Callable[[], TlsConfig], connect_timeout_s: float = CONNECT_TIMEOUT_S,
        answer_bytes_max: int = FRAME_BYTES_MAX, failures: int = logging.WARNING,
    ) -> None:  # fmt: skip
        self.answer_bytes_max = answer_bytes_max
        self._read_tls = read_tls
        self._failures = failures
        self._connect_timeout_s = connect_timeout_s
        self._connections: dict[str, _Connection] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._closed = False

    def invoke_oneway(self, addr: str, frame: bytes) -> None:
        """Send a frame to ``host:port`` as soon as there is a connection. It is dropped if connecting fails."""
        if self._closed:
            return
        connection = self._connection(addr)
        if connection is None or not connection.send(frame):
            log.warning("invokeOneway, send a request to %s failed: too much waits already", addr)

    async def invoke(self, addr: str, opaque: int, frame: bytes, timeout_s: float) -> RemotingCommand:
        """Send a request and wait for its answer. NotSentError if none comes."""
        connection = self._connection(addr)
        answer: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
        if connection is None or not connection.send(frame):
            raise NotSentError(f"too much waits for {addr}")
        connection.answers[opaque] = answer
        try:
            return await asyncio.wait_for(answer, timeout_s)
        except TimeoutError as error:
            raise NotSentError(f"no answer from {addr} in {timeout_s} s") from error
        finally:
            connection.answers.pop(opaque, None)

    def _connection(self, addr: str) -> _Connection | None:
        connection = self._connections.get(addr)
        if connection is None and not self._closed and len(self._connections) < CONNECTIONS_MAX:
            connection = self._connections[addr] = _Connection(self, addr)
            task = asyncio.get_running_loop().create_task(self._open(addr, connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        return connection

    async def _open(self, addr: str, connection: _Connection) -> None:
        host, _, port_text = addr.rpartition(":")
        port = parse_int(port_text)
        try:
            if not host or port is None or not 0 < port < 65_536:
                raise NotSentError("it is no host:port")
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(self._connect_timeout_s):
                context = await self._tls_context()
                await loop.create_connection(lambda: connection, host.strip("[]"), port, ssl=context)
        except (OSError, ValueError, RocketnsError) as error:  # ValueError: a host that cannot be one
            reason = str(error) or "timeout"
            log.log(self._failures, "createChannel: connect remote host[%s] failed: %s", addr, reason)
            connection.lost(f"connecting to {addr} failed: {reason}")

    async def _tls_context(self) -> ssl.SSLContext | None:
        """Made for each connection from the current files. In a thread, because it takes a while."""
        config = self._read_tls()
        return await asyncio.to_thread(client_context, config) if config.enable else None

    def disconnect(self, addr: str) -> None:
        """End the connection to ``host:port``, if there is one: the network may have lost it without a sign."""
        connection = self._connections.get(addr)
        if connection is not None:
            connection.close()

    def forget(self, addr: str, connection: object) -> None:
        """A connection ended."""
        if self._connections.get(addr) is connection:
            del self._connections[addr]

    def close(self) -> None:
        """End every connection, for good."""
        self._closed = True
        for task in list(self._opening):
            task.cancel()
        for connection in list(self._connections.values()):
            connection.close()

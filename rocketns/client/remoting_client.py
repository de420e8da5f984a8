"""Connections to others (NettyRemotingClient): one for each address, kept and reused.

Used for requests to name servers that the operator named, and for min-broker-id notifications, whose receivers'
addresses come from registrations. For those no caller waits: a frame that cannot be sent is dropped and logged.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import TypeVar

from rocketns.addresses import host_of, literal, split
from rocketns.client.connection import Forget, NotSentError, OutgoingConnection, RefusedError
from rocketns.client.quota import REST_S, REST_S_MAX, ConnectionQuota
from rocketns.client.reach import ReachRules
from rocketns.client.tls import client_context
from rocketns.config import Limits
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError
from rocketns.logs import LogLimiter
from rocketns.protocol.command import RemotingCommand

log = logging.getLogger("rocketns.client")

CONNECT_TIMEOUT_S = 3.0  # com.rocketmq.remoting.client.connect.timeout
# Peers choose how much cannot be sent to them.
LOG_EVERY_S = 1.0
OUT_OF_REACH = "the address is not on the host that announced it, nor in a network of askNetworks"
MUTE = "rocketns.mute=true: nothing is sent to others"
NO_ADDRESS = "it is no host:port"

Value = TypeVar("Value")
MakeConnection = Callable[[Forget, str, str, float], OutgoingConnection]


def _whole(answer: RemotingCommand) -> RemotingCommand:
    return answer


class RemotingClient:
    """Runs on the event loop's thread. ``read_tls`` gives the TLS properties, ``failures`` is the log level of failures
    to connect.

    A peer that sends an answer of more than ``answer_bytes_max`` is disconnected. Without ``reach`` no address that a
    broker announced is connected to. ``make_connection`` may make a subclass, which counts what a connection holds.
    A mute one opens nothing and sends nothing.
    """

    def __init__(
        self, read_tls: Callable[[], TlsConfig], connect_timeout_s: float = CONNECT_TIMEOUT_S,
        answer_bytes_max: int = FRAME_BYTES_MAX, failures: int = logging.WARNING, limits: Limits | None = None,
        reach: ReachRules | None = None, make_connection: MakeConnection = OutgoingConnection, is_mute: bool = False,
    ) -> None:  # fmt: skip
        limits = limits or Limits()
        self._is_mute = is_mute
        self._answer_bytes_max = answer_bytes_max
        self._connections_max = limits.outgoing_connections_max
        self._quota = ConnectionQuota(limits.outgoing_connections_per_host_max)
        self._reach = reach
        self._make_connection = make_connection
        self._read_tls = read_tls
        self._failures = failures
        self._connect_timeout_s = connect_timeout_s
        self._connections: dict[str, OutgoingConnection] = {}
        self._opening: set[asyncio.Task[None]] = set()
        self._lines = LogLimiter(LOG_EVERY_S)
        self._closed = False

    def invoke_oneway(self, addr: str, frame: bytes, announced_by: str | None) -> None:
        """Send a frame to the broker at ``host:port`` as soon as there is a connection, if it may be connected to.

        ``announced_by``: see `ReachRules`. The frame is dropped if connecting fails.
        """
        if self._closed or self._is_mute:
            return
        try:
            if self._reach is None or self._reach.is_out(addr, announced_by):
                raise NotSentError(OUT_OF_REACH)
            connection = self._connection(addr, announced_by, is_announced=True)
            if not connection.send(frame):
                raise NotSentError("too much waits already")
        except NotSentError as error:
            self._log_dropped(addr, error)

    async def invoke(
        self, addr: str, opaque: int, frame: bytes, timeout_s: float, answer_bytes_max: int | None = None
    ) -> RemotingCommand:
        """Send a request to an address that the operator named, and wait for its answer. NotSentError if none comes."""
        bytes_max = self._answer_bytes_max if answer_bytes_max is None else answer_bytes_max
        return await self.invoke_reading(addr, opaque, frame, timeout_s, _whole, bytes_max)

    async def invoke_reading(
        self, addr: str, opaque: int, frame: bytes, timeout_s: float, read: Callable[[RemotingCommand], Value],
        answer_bytes_max: int,
    ) -> Value:  # fmt: skip
        """Likewise, as ``read`` gives it, which runs in the turn of the peer's host. The answer is not larger."""
        if self._closed:
            raise NotSentError("the server stops")
        if self._is_mute:
            raise NotSentError(MUTE)
        connection = self._connection(addr, None, is_announced=False)
        if not connection.send(frame):
            raise NotSentError(f"too much waits for {addr}")
        answer = connection.answers.expect(opaque, read, answer_bytes_max)
        try:
            value: Value = await asyncio.wait_for(answer, timeout_s)
            return value
        except TimeoutError as error:
            raise NotSentError(f"no answer from {addr} in {timeout_s} s") from error
        finally:
            if connection.answers.forget(opaque):
                connection.close(f"the answer of {addr} was not whole in time")

    def _connection(self, addr: str, announced_by: str | None, *, is_announced: bool) -> OutgoingConnection:
        """The connection to an address, which may be a new one. NotSentError, with the reason, if there is no room."""
        existing = self._connections.get(addr)
        if existing is not None:
            return existing
        now_s, host = asyncio.get_running_loop().time(), _host(addr, announced_by)
        if failure := self._quota.resting(addr, now_s):
            raise NotSentError(failure)
        if limit := self._quota.exceeded(host, now_s):
            raise NotSentError(f"no connection to {addr}: {limit}")
        if len(self._connections) >= self._connections_max:
            self._make_room(addr)
        rest_s_max = REST_S_MAX if is_announced else REST_S
        connection = self._connections[addr] = self._make_connection(self._forget, addr, host, rest_s_max)
        self._quota.acquire(host, now_s)
        task = asyncio.get_running_loop().create_task(self._open(connection, announced_by, is_announced))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return connection

    def _make_room(self, addr: str) -> None:
        """End the connection that was idle for longest."""
        idle = [one for one in self._connections.values() if one.is_idle]
        if not idle:
            raise NotSentError(f"no connection to {addr}: there are {self._connections_max} (outgoingConnectionsMax)")
        min(idle, key=lambda one: one.used_s).close("another one needed its place")

    async def _open(self, connection: OutgoingConnection, announced_by: str | None, is_announced: bool) -> None:
        addr = connection.address
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                host, port = await self._target(addr, announced_by, is_announced)
                context = await self._tls_context()
                await asyncio.get_running_loop().create_connection(lambda: connection, host, port, ssl=context)
        except (OSError, ValueError, RocketnsError) as error:  # ValueError: a host that cannot be one
            reason = str(error) or "timeout"
            log.log(self._failures, "createChannel: connect remote host[%s] failed: %s", addr, reason)
            why = RefusedError if isinstance(error, ConnectionRefusedError) else NotSentError
            connection.lost(f"connecting to {addr} failed: {reason}", failed=True, error=why, cause=error)

    async def _target(self, addr: str, announced_by: str | None, is_announced: bool) -> tuple[str, int]:
        """Host and port. What a peer announced is resolved and looked at first, so that its host is an IP address."""
        host, port = split(addr)
        if port is None:
            raise NotSentError(NO_ADDRESS)
        if not is_announced:
            return host, port
        found = [] if self._reach is None else await self._reach.addresses(addr, announced_by)
        if not found:
            raise NotSentError(OUT_OF_REACH)
        return str(found[0][1][0]), port

    async def _tls_context(self) -> ssl.SSLContext | None:
        """Made for each connection from the current files. In a thread, because it takes a while."""
        config = self._read_tls()
        return await asyncio.to_thread(client_context, config) if config.enable else None

    def disconnect(self, addr: str) -> None:
        """End the connection to ``host:port``, if there is one: the network may have lost it without a sign."""
        connection = self._connections.get(addr)
        if connection is not None:
            connection.close()

    def _forget(self, connection: OutgoingConnection, failure: str) -> None:
        """A connection ended. ``failure``: why its address should not be tried again at once; else empty."""
        addr = connection.address
        if self._connections.get(addr) is not connection:
            return
        del self._connections[addr]
        self._quota.release(connection.account)
        if failure:
            self._quota.failed(addr, failure, asyncio.get_running_loop().time(), connection.rest_s_max)
        else:
            self._quota.succeeded(addr)

    def _log_dropped(self, addr: str, why: NotSentError) -> None:
        dropped = self._lines.due(asyncio.get_running_loop().time())
        if dropped is not None:
            others = f" ({dropped - 1} more were dropped since the last such line)" if dropped > 1 else ""
            log.warning("invokeOneway, send a request to %s failed: %s%s", addr, why, others)

    def close(self) -> None:
        """End every connection, for good."""
        self._closed = True
        for task in list(self._opening):
            task.cancel()
        for connection in list(self._connections.values()):
            connection.close()


def _host(addr: str, announced_by: str | None) -> str:
    """Whose account a connection belongs to. Names of hosts are their announcer's choice."""
    host = split(addr)[0]
    return host_of(f"{announced_by}:0" if announced_by and literal(host) is None else f"{host}:0")

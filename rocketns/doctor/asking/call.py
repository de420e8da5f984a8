"""One connection to a server, and requests over it, one after the other. Nothing that it answers is trusted."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass

from rocketns.client.connection import NotSentError, OutgoingConnection
from rocketns.client.reading import AnswerReader
from rocketns.client.signer import Fields, Signer
from rocketns.doctor.asking.addresses import Target, UnreachedError, connect
from rocketns.doctor.asking.requests import Budget
from rocketns.doctor.facts.reach import Outcome
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.encoding import encode_request

FIRST_BYTES = 8  # kept of what the peer sent first
# The length of any frame is looked at, so that one that is too large is measured. Only `bytes_max` of it are kept.
_LENGTHS_MAX = (1 << 31) - 1
_TLS_RECORDS = (0x14, 0x15, 0x16, 0x17)


@dataclass(frozen=True, slots=True)
class Line:
    """How to talk: with TLS or without, signed or not, and how long to wait for each thing."""

    context: ssl.SSLContext | None
    signer: Signer | None
    within_s: float


@dataclass(frozen=True, slots=True)
class Timed:
    """An answer, and when it was asked for and came, in epoch seconds of this machine's clock."""

    answer: RemotingCommand
    asked_s: float
    came_s: float


class TooLargeError(UnreachedError):
    """An answer has more bytes than are read. ``size``: how many."""

    def __init__(self, size: int) -> None:
        super().__init__(Outcome.OTHER_PROTOCOL, f"its answer has {size} bytes, more than are read")
        self.size = size


class HandshakeError(UnreachedError):
    """The peer speaks TLS, and there is no agreement about certificates, versions or suites."""


class _Connection(OutgoingConnection):
    """Keeps the first bytes that came, the size of the answer to ``opaque``, and whether what came was no frame."""

    def __init__(self, addr: str) -> None:
        super().__init__(lambda _connection, _failed: None, addr, "", 0.0)
        self.first = b""
        self.opaque, self.size = -1, 0
        self.is_garbled = False
        self._reader = AnswerReader(self._wants, _LENGTHS_MAX)

    def data_received(self, data: bytes) -> None:
        if len(self.first) < FIRST_BYTES:
            self.first = (self.first + data)[:FIRST_BYTES]
        super().data_received(data)

    def fail(self, why: str) -> None:
        self.is_garbled = True
        super().fail(why)

    def _wants(self, opaque: int | None, size: int) -> bool:
        if opaque == self.opaque:
            self.size = size
        return self.answers.wants(opaque, size)


class Call:
    """See `open_call`. After an UnreachedError it is of no more use."""

    def __init__(self, addr: str, connection: _Connection, line: Line, budget: Budget, ms: float) -> None:
        """``ms``: how long it took to connect."""
        self.addr, self.ms = addr, ms
        self._connection, self._line, self._budget = connection, line, budget

    async def ask(self, code: int, fields: Fields, bytes_max: int) -> Timed:
        """The answer, of whatever code. UnreachedError if none comes that is a frame of at most so many bytes."""
        self._budget.spend(self.addr, code)
        signer = self._line.signer
        opaque, frame = encode_request(code, fields if signer is None else signer.signed(fields), SerializeType.JSON)
        self._connection.opaque, self._connection.size = opaque, 0
        asked_s = time.time()
        if not self._connection.is_open or not self._connection.send(frame):
            raise self._failure("it ended the connection")
        expected = self._connection.answers.expect(opaque, lambda answer: answer, bytes_max)
        try:
            answer = await asyncio.wait_for(expected, self._line.within_s)
        except TimeoutError:
            self.close()
            raise UnreachedError(Outcome.SILENT, f"no answer to request {code} in {self._line.within_s:g} s") from None
        except NotSentError as error:
            if self._connection.size > bytes_max:
                raise TooLargeError(self._connection.size) from error
            raise self._failure(str(error)) from error
        finally:
            self._connection.answers.forget(opaque)
        return Timed(answer, asked_s, time.time())

    def _failure(self, why: str) -> UnreachedError:
        """What the first bytes say of a peer that sent no answer."""
        first = self._connection.first
        if first and (first[0] in _TLS_RECORDS and first[1:2] == b"\x03"):
            return UnreachedError(Outcome.SPEAKS_TLS, "it answered with TLS")
        if first and (self._connection.is_garbled or not _is_frame(first)):
            return UnreachedError(Outcome.OTHER_PROTOCOL, f"it sent no frame; its first bytes are {first!r}")
        return UnreachedError(Outcome.CLOSED, why)

    def close(self) -> None:
        """End the connection."""
        self._connection.close("")


def _is_frame(first: bytes) -> bool:
    """Whether these may be the first bytes of a frame: its length, then 0 or 1 for the form of its header."""
    return len(first) < FIRST_BYTES or (first[4] in tuple(SerializeType) and first[0] < 0x80)


async def open_call(target: Target, line: Line, budget: Budget) -> Call:
    """A connection. UnreachedError if there is none, or no TLS over it."""
    budget.spend(target.addr, "connect")
    began_s = time.monotonic()
    opened = await connect(target, line.within_s)
    ms = (time.monotonic() - began_s) * 1000
    connection = _Connection(target.addr)
    name = None if line.context is None else ""  # an address has none, and is not compared with a certificate
    try:
        async with asyncio.timeout(line.within_s):
            await asyncio.get_running_loop().create_connection(
                lambda: connection, sock=opened, ssl=line.context, server_hostname=name
            )
    except (OSError, ValueError) as error:  # TimeoutError and ssl.SSLError are OSErrors
        opened.close()
        connection.lost()
        raise _of_handshake(error) from error
    return Call(target.addr, connection, line, budget, ms)


def _of_handshake(error: Exception) -> UnreachedError:
    if isinstance(error, TimeoutError):
        return UnreachedError(Outcome.SILENT, "no TLS handshake in time")
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLError) and reason == "WRONG_VERSION_NUMBER":
        return UnreachedError(Outcome.SPEAKS_PLAIN, "it answered a TLS handshake without TLS")
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return HandshakeError(Outcome.CLOSED, f"the TLS handshake failed: {reason or error}")
    return UnreachedError(Outcome.CLOSED, f"it ended the TLS handshake: {error}")

"""A connection to the name server that is asked: whole frames out, and the answer with the same opaque."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Self

from rocketns.addresses import with_port
from rocketns.errors import MalformedFrame, RocketnsError
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.command import FLAG_RESPONSE, decode

_LENGTH_BYTES = 4
UNASKED_MAX = 1_000
"""Frames that are no answer to the request, such as notifications, until its answer."""


class UnreachableError(RocketnsError):
    """Nobody answers at the address."""


class NoAnswerError(RocketnsError):
    """The server closed the connection, sent no frame, or took too long."""


class Connection:
    """One at a time: a request, then its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, within_s: float) -> None:
        self._reader, self._writer, self._within_s = reader, writer, within_s

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None, within_s: float) -> Self:
        """UnreachableError where nobody answers in time."""
        try:
            async with asyncio.timeout(within_s):
                reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        except OSError as error:
            reason = str(error) or f"no answer within {within_s:g} s"
            raise UnreachableError(f"{with_port(host, port)} cannot be reached: {reason}") from error
        return cls(reader, writer, within_s)

    async def ask(self, frame: bytes, opaque: int | None) -> bytes:
        """The answer; of any opaque if it is None. NoAnswerError."""
        try:
            async with asyncio.timeout(self._within_s):
                await self._send(frame)
                return await self._answer(opaque)
        except (OSError, asyncio.IncompleteReadError, MalformedFrame) as error:
            raise NoAnswerError(str(error) or type(error).__name__) from error

    async def tell(self, frame: bytes) -> None:
        """Send a oneway request. NoAnswerError."""
        try:
            async with asyncio.timeout(self._within_s):
                await self._send(frame)
        except OSError as error:
            raise NoAnswerError(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """End it at once."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _send(self, frame: bytes) -> None:
        self._writer.write(frame)
        await self._writer.drain()

    async def _answer(self, opaque: int | None) -> bytes:
        for _ in range(UNASKED_MAX):
            frame = await self._frame()
            command = decode(frame)
            if command.flag & FLAG_RESPONSE and opaque in (None, command.opaque):
                return frame
        raise NoAnswerError(f"{UNASKED_MAX} frames, and the answer is not among them")

    async def _frame(self) -> bytes:
        length = await self._reader.readexactly(_LENGTH_BYTES)
        size = int.from_bytes(length, "big", signed=True)
        if not 0 < size <= FRAME_SIZE_MAX_BYTES - _LENGTH_BYTES:
            raise NoAnswerError(f"a frame of {size} bytes")
        return length + await self._reader.readexactly(size)

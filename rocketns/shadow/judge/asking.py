"""Asks the upstream, the own half and the reference a question again, over connections of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from rocketns.client.connection import NotSentError, OutgoingConnection
from rocketns.client.remoting_client import RemotingClient
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.config.tls import TlsConfig
from rocketns.protocol.command import next_request_id
from rocketns.shadow.judge.questions import Again, with_opaque

ANSWER_WITHIN_S = 3.0


class FrameConnection(OutgoingConnection):
    """Gives answers as they came: they are compared as bytes."""

    def give(self, opaque: int, frame: bytes | memoryview) -> None:
        """See OutgoingConnection."""
        self.answers.give(opaque, cast(Any, bytes(frame)))


class Asker:
    """On a running loop. ``system`` has the properties of TLS with which the upstream and the reference are asked."""

    def __init__(self, upstream: str, reference: str | None, system: Mapping[str, str]) -> None:
        self._upstream, self._reference = upstream, reference
        self._others = _client(lambda: TlsConfig.read(system, {}))
        self._plain = _client(lambda: TlsConfig.read({}, {"tls.enable": "false"}))

    async def ask(self, request: bytes, own_addr: str) -> Again:
        """All of them at once. One that does not answer has no answer; if none does, there is a failure."""
        opaque = next_request_id()
        frame = with_opaque(request, opaque)
        asked = [_frame(self._others, self._upstream, opaque, frame), _frame(self._plain, own_addr, opaque, frame)]
        if self._reference is not None:
            asked.append(_frame(self._others, self._reference, opaque, frame))
        found = await asyncio.gather(*asked)
        failures = [one for one in found[:2] if isinstance(one, NotSentError)]
        if failures:
            return Again(failure=str(failures[0]))
        upstream, own, *reference = (None if isinstance(one, NotSentError) else one for one in found)
        return Again(frame, upstream, own, reference[0] if reference else None)

    def close(self) -> None:
        """End its connections."""
        self._others.close()
        self._plain.close()


def _client(read_tls: Callable[[], TlsConfig]) -> RemotingClient:
    return RemotingClient(read_tls, failures=logging.DEBUG, make_connection=FrameConnection)


def _same(frame: Any) -> bytes:
    return cast(bytes, frame)


async def _frame(client: RemotingClient, addr: str, opaque: int, frame: bytes) -> bytes | NotSentError:
    try:
        return await client.invoke_reading(addr, opaque, frame, ANSWER_WITHIN_S, _same, FRAME_BYTES_MAX)
    except NotSentError as error:
        return error

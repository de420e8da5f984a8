"""A server with reactors on a thread of this process, in real time. A test can block its control."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocketns.processor import requests
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_reply
from rocketns.server.clock import Clock
from tests.processor.asking import Connection
from tests.support.inprocess import TimedServer

DONE_WITHIN_S = 60.0


class LiveServer(TimedServer):
    """Started on construction."""

    def __init__(self, home: Path, reactors: int = 2, **properties: object) -> None:
        home.mkdir(parents=True, exist_ok=True)
        super().__init__(home, {"rocketns.reactors": reactors} | properties, Clock())  # type: ignore[arg-type]

    def _show_time(self) -> None:
        """Time passes by itself."""

    @contextmanager
    def held_still(self) -> Iterator[None]:
        """Block control for the duration, as a long request would."""
        holds, goes_on = threading.Event(), threading.Event()

        def hold() -> None:
            holds.set()
            goes_on.wait(DONE_WITHIN_S)

        self.loop.call_soon_threadsafe(hold)
        assert holds.wait(DONE_WITHIN_S)
        try:
            yield
        finally:
            goes_on.set()

    def reference(self, frame: bytes) -> bytes:
        """The answer that control would give now."""
        request = command.decode(frame)

        def process() -> bytes:
            context = self.controller.core.context
            reply = requests.process(context, request, Connection(), self.controller.clock.now())
            return encode_reply(reply, request.opaque, SerializeType.JSON)

        return self.call(process)

    def answered_by_reactors(self) -> int:
        """Lookups so far."""
        reactors = self.controller.reactors
        return sum(reactors.lookups)

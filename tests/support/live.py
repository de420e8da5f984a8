"""A server with reactors on a thread of this process, in real time. A test can block its control."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from interop.harness.wire import Client
from rocketns.config import Configuration
from rocketns.namesrv_controller import NamesrvController
from rocketns.processor import dispatch
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_reply
from tests.processor.asking import Connection

Result = TypeVar("Result")
DONE_WITHIN_S = 60.0


class LiveServer:
    """Started on construction."""

    def __init__(self, home: Path, reactors: int = 2, **properties: object) -> None:
        home.mkdir(parents=True, exist_ok=True)
        settings = {
            "listenPort": 0,
            "bindAddress": "127.0.0.1",
            "kvConfigPath": home / "kv.json",
            "rocketns.reactors": reactors,
        } | properties
        file = home / "live.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")
        self.controller = NamesrvController(Configuration.build(str(file), home=home))
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.controller.start(), self.loop).result(DONE_WITHIN_S)

    def __enter__(self) -> LiveServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self.controller.configuration.netty.listen_port

    def connect(self) -> Client:
        return Client(self.port, timeout_s=DONE_WITHIN_S)

    def call(self, function: Callable[[], Result]) -> Result:
        """Run a function on control's thread."""

        async def run() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(DONE_WITHIN_S)

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
            reply = dispatch.process(context, request, Connection(), self.controller.clock.now())
            return encode_reply(reply, request.opaque, SerializeType.JSON)

        return self.call(process)

    def answered_by_reactors(self) -> int:
        """Lookups so far."""
        reactors = self.controller.reactors
        assert reactors is not None
        return sum(map(sum, reactors.counters()))

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.controller.stop(), self.loop).result(DONE_WITHIN_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(DONE_WITHIN_S)
        self.loop.close()

"""A real server on a real socket, in a thread of this process, whose clock the test moves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from interop.harness.wire import HAPPENS_WITHIN_S, Client, eventually
from rocketns._fast.reactor.reactors import Reactors
from rocketns.config import Configuration
from rocketns.namesrv_controller import NamesrvController
from rocketns.processor.context import Now
from rocketns.server.clock import Clock
from rocketns.server.reactors.transport import ReactorConnection, ReactorTransport
from tests.compiled.parts import carried, is_settled, set_clock, tls_bytes

Result = TypeVar("Result")


class FakeClock(Clock):
    """Clocks that move only when a test moves them. No machine has been up as long as they say."""

    def __init__(self, epoch_ms: int = 1_700_000_000_000) -> None:
        self._now = Now(10**12, epoch_ms)
        self._suspended_ms = 0

    def now(self) -> Now:
        return self._now

    def suspended_ms(self) -> int:
        return self._suspended_ms

    def advance(self, ms: int) -> None:
        self._now = Now(self._now.ms + ms, self._now.epoch_ms + ms)

    def set_wall(self, by_ms: int) -> None:
        """Set the wall clock."""
        self._now = Now(self._now.ms, self._now.epoch_ms + by_ms)

    def suspend(self, ms: int) -> None:
        """The machine sleeps: the wall clock moves on, the monotonic clock does not."""
        self._suspended_ms += ms
        self.set_wall(ms)


class TimedServer:
    """A running server, started on construction; as a context manager it ends with the block.

    Each call runs on the server's loop and returns when it is done.
    """

    def __init__(self, home: Path, properties: dict[str, object] | None = None, clock: FakeClock | None = None) -> None:
        settings = {"listenPort": 0, "bindAddress": "127.0.0.1", "kvConfigPath": home / "kv.json"} | (properties or {})
        config_file = home / "timed.properties"
        config_file.write_text("".join(f"{k}={v}\n" for k, v in settings.items()), "utf-8")
        self.clock = clock or FakeClock()
        self.controller = NamesrvController(Configuration.build(str(config_file), home=home), self.clock)
        self._show_time()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self.loop).result(HAPPENS_WITHIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _start(self) -> None:
        await self.controller.start()

    @property
    def port(self) -> int:
        return self.controller.configuration.netty.listen_port

    def connect(self) -> Client:
        return Client(self.port)

    def wait_until_read(self, client: Client) -> None:
        """Wait until a reactor, or the handshake thread, has read what the client sent. Linux says what it has not."""
        ends = (f":{self.port:04X}", f":{client.socket.getsockname()[1]:04X}")

        def is_read() -> bool:
            rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
            queues = [row[4] for row in rows if (row[1][8:], row[2][8:]) == ends]
            return [queue.partition(":")[2] for queue in queues] == ["00000000"]

        eventually(is_read, every_s=0.001)

    def call(self, function: Callable[[], Result]) -> Result:
        """Run a function on the server's thread."""

        async def run() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(HAPPENS_WITHIN_S)

    def advance(self, ms: int) -> None:
        """Move the clock, run the jobs that are due, and wait for their effects."""

        def step() -> None:
            self.clock.advance(ms)
            self._show_time()
            self.controller.run_due_jobs()

        self.call(step)
        self.settle()

    def settle(self) -> None:
        """Wait until reactors and control have handled all messages."""
        eventually(lambda: self.call(lambda: is_settled(self.reactors)), every_s=0.001)
        self.call(lambda: None)

    def connection_of(self, client: Client) -> ReactorConnection:
        """Control's end of a connection that has sent something."""
        address = "{}:{}".format(*client.socket.getsockname()[:2])

        def find() -> ReactorConnection | None:
            connections = self.call(lambda: list(self.transport.connections))
            return next((one for one in connections if one.address == address), None)

        found: ReactorConnection = eventually(find)
        return found

    @property
    def reactors(self) -> Reactors:
        """The compiled side of the reactors."""
        return self.controller.reactors

    @property
    def transport(self) -> ReactorTransport:
        """Control's side of the reactors."""
        return self.controller.reactor_transport

    @property
    def connections(self) -> int:
        return self.reactors.connections

    @property
    def incoming_bytes(self) -> int:
        """Bytes of frames that are incomplete or waiting, without OpenSSL's memory."""
        return self.reactors.incoming_bytes - tls_bytes(self.reactors)

    @property
    def handshaking(self) -> int:
        """How many connections the handshake thread has, or is given."""
        return self.reactors.connections - sum(carried(self.reactors))

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that are unsent because their peers do not read."""
        return self.reactors.outgoing_bytes

    def _show_time(self) -> None:
        set_clock(self.reactors, self.clock.now().ms)

    def stop(self) -> None:
        """Once: a test may have done so."""
        if self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self.controller.stop(), self.loop).result(HAPPENS_WITHIN_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(HAPPENS_WITHIN_S)
        self.loop.close()

"""A host with a name server: the real controller on virtual time, a simulated network and a disk in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocketns.config import Configuration
from rocketns.namesrv_controller import NamesrvController
from rocketns.processor.context import Now
from rocketns.routeinfo.events import Event
from rocketns.server.clock import Clock
from rocketns.server.listening import Listening
from tests.simulation.actors.threads import JournalWork
from tests.simulation.world.disk import Disk
from tests.simulation.world.errors import Violation
from tests.simulation.world.filesystem import ROOT, FileSystem
from tests.simulation.world.loop import VirtualLoop
from tests.simulation.world.network import Network, Socket
from tests.simulation.world.scheduler import START_EPOCH_MS, Process, World
from tests.simulation.world.transport import KeptSocket, ListeningSocket, VirtualTransport

PORT = 9876
# The virtual cost of each piece of work that control measures.
WORK_NS = 20_000


class HostClock(Clock):
    """Both clocks of a host. ``wall_ms`` is by how much the wall clock was moved."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._spent_ns = 0
        self.wall_ms = 0

    def now(self) -> Now:
        ms = self._world.now_us // 1000
        return Now(1_000_000 + ms, START_EPOCH_MS + ms + self.wall_ms)

    def suspended_ms(self) -> int:
        return 0

    def spent_ns(self) -> int:
        self._spent_ns += WORK_NS
        return self._spent_ns


class NameServerProcess(Process):
    """One run of a name server, from its start to its end."""

    def __init__(self, server: NameServer) -> None:
        super().__init__(server.world, server.name)
        self.server = server
        self.loop = VirtualLoop(server.world, self)
        self.sockets: list[Socket] = []
        self.listening: ListeningSocket | None = None
        self.controller: NamesrvController
        self.has_started = False
        self.is_stopping = self.has_stopped = False
        self.started_us = server.world.now_us
        self._is_buried = False

    @property
    def serves(self) -> bool:
        return self.is_alive and self.has_started and not self.is_stopping

    def run(self) -> None:
        """Build the controller and start it. `Violation` if it does not start."""
        with self.world.as_process(self):
            configuration = Configuration.build(str(self.server.config_path), home=self.server.home)
            if self.server.buffer_bytes is not None:
                configuration.journal.journal_buffer_bytes = self.server.buffer_bytes
            self.controller = NamesrvController(configuration, self.server.clock, self._passed())
            self._watch(self.controller)
        if self.is_alive:
            self.loop.run_now(self._start())

    def _passed(self) -> Listening | None:
        """The supervisor's socket. It stays open when this process ends."""
        server = self.server
        if not server.keeps_socket:
            return None
        if server.kept is None:
            server.kept = KeptSocket(server.network, (server.host, PORT), self.sockets)
            server.kept.listen()
        server.kept.opened = self.sockets
        self.listening = server.kept
        return Listening(server.kept, is_passed=True)  # type: ignore[arg-type]

    async def _start(self) -> None:
        with self.world.judging():
            try:
                await self.controller.start()
            except Exception as error:
                raise Violation(f"{self.name} does not start: {error!r}") from error
            self.has_started = True
            self.server.started(self)

    def _watch(self, controller: NamesrvController) -> None:
        deliver = controller.core.delivery.deliver

        def delivering(events: list[Event], now: Now, *rest: Any, **more: Any) -> Any:
            before = 0 if controller.journal is None else controller.journal.buffer.seq
            given = deliver(events, now, *rest, **more)
            if events:
                with self.world.judging():
                    self.server.changed(self, events, before)
            return given

        controller.core.delivery.deliver = delivering  # type: ignore[method-assign]
        if (journal := controller.journal) is not None:
            start = journal.start

            def starting(call_soon: Any, epoch_ms: int, filled: Any) -> None:
                start(call_soon, epoch_ms, filled)
                self.server.begun(self)

            journal.start = starting  # type: ignore[method-assign]

    @property
    def journal(self) -> JournalWork | None:
        journal = self.controller.journal
        return None if journal is None else journal.writer  # type: ignore[return-value]

    def bind(self, host: str, port: int) -> ListeningSocket:
        self.listening = ListeningSocket(self.server.network, (host, port), self.sockets)
        return self.listening

    async def open_connection(
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int, loop: VirtualLoop
    ) -> Any:
        """loop.create_connection. OSError where it is refused or takes too long."""
        return VirtualTransport(await self.connect(host, port), factory(), loop), None

    async def connect(self, host: str, port: int) -> Socket:
        """An open connection. OSError where it is refused or takes too long."""
        loop = self.loop
        opened: asyncio.Future[Socket] = loop.create_future()

        def take(socket: Socket) -> None:
            if opened.done():  # the caller has given up
                socket.close()
            else:
                opened.set_result(socket)

        def done(socket: Socket) -> None:
            if self.is_alive:
                self.sockets.append(socket)
                loop.add_input(lambda: take(socket))
            else:
                socket.close(resets=True)

        def failed(why: str) -> None:
            kind = ConnectionRefusedError if why == "refused" else TimeoutError
            loop.add_input(lambda: None if opened.done() else opened.set_exception(kind(why)))

        self.server.network.connect(self.server.host, (host, port), done, failed)
        return await opened

    def go_on(self) -> None:
        super().go_on()
        self.loop.go_on()

    def die(self) -> None:
        """The kernel closes its sockets, and forgets its descriptors and locks."""
        super().die()
        if not self._is_buried:
            self._is_buried = True
            if self.listening is not None:
                self.listening.close()
            for socket in self.sockets:
                socket.close()
            self.server.died(self)


class NameServer:
    """``process`` is the present run. ``buffer_bytes`` is a journal buffer smaller than a file may ask for.

    ``begun`` (its journal began), ``changed``, ``started``, ``ended``
    and ``lost_power`` are called with what happens to a process.
    """

    def __init__(
        self, world: World, network: Network, files: FileSystem, number: int, settings: dict[str, object]
    ) -> None:
        self.world, self.network, self.files = world, network, files
        self.name = f"ns{number}"
        self.host = f"10.0.9.{number}"
        self.clock = HostClock(world)
        self.random = world.random_of(self.name)
        self.disk = Disk(ROOT + self.name, self.random)
        self.slow_us = 0
        self.buffer_bytes: int | None = None
        self.keeps_socket = False
        self.kept: KeptSocket | None = None
        files.disks[self.name] = self.disk
        self.home = Path(self.disk.root)
        self.config_path = self.home / "namesrv.conf"
        self.process: NameServerProcess | None = None
        self.changed: Callable[[NameServerProcess, list[Event], int], None] = lambda _process, _events, _seq: None
        self.begun: Callable[[NameServerProcess], None] = lambda _process: None
        self.started: Callable[[NameServerProcess], None] = lambda _process: None
        self.ended: Callable[[NameServerProcess], None] = lambda _process: None
        self.lost_power: Callable[[NameServerProcess], None] = lambda _process: None
        self._write_configuration(settings)

    def _write_configuration(self, settings: dict[str, object]) -> None:
        given = {"listenPort": PORT, "bindAddress": self.host, "kvConfigPath": self.home / "kv.json"} | settings
        self.config_path.write_text("".join(f"{key}={value}\n" for key, value in given.items()), "utf-8")
        self.disk.folder.sync()
        for node in self.disk.folder.names.values():
            node.sync()

    def disk_delay_us(self) -> int:
        return self.random.randint(50, 3_000) + (self.random.randint(0, self.slow_us) if self.slow_us else 0)

    def start(self) -> None:
        if self.network.is_up(self.host) and (self.process is None or not self.process.is_alive):
            self.disk.is_gone = False
            self.process = process = NameServerProcess(self)

            def crashed() -> None:
                process.is_alive = False

            self.disk.crashed = crashed
            process.run()

    def kill(self) -> None:
        """SIGKILL: its files are as it left them."""
        if self.process is not None and self.process.is_alive:
            self.process.die()

    def lose_power(self) -> None:
        """The host goes down. Nobody is told, and what was not synced is lost."""
        self.network.down.add(self.host)
        if self.process is not None:
            for socket in self.process.sockets:
                socket.vanish()
        self.kill()
        if self.kept is not None:
            self.kept.vanish()
            self.kept = None
        self.disk.lose_power()
        if self.process is not None:
            with self.world.judging():
                self.lost_power(self.process)

    def boot(self) -> None:
        """The host is up again, without a name server."""
        self.network.down.discard(self.host)

    def stop(self) -> None:
        """SIGTERM."""
        process = self.process
        if process is not None and process.serves and not process.is_stopped:
            process.is_stopping = True
            process.loop.run_now(self._stop(process))

    async def _stop(self, process: NameServerProcess) -> None:
        await process.controller.stop()
        process.has_stopped = True
        process.die()

    def died(self, process: NameServerProcess) -> None:
        self.disk.is_gone = True
        self.disk.crash_in = None
        self.files.forget(self.disk)
        with self.world.judging():
            self.ended(process)

    @property
    def serves(self) -> bool:
        return self.process is not None and self.process.serves


def working(process: Process | None) -> tuple[Process, Callable[[], int]]:
    """The disk work of the running process."""
    assert isinstance(process, NameServerProcess), "only a name server writes files"
    return process, process.server.disk_delay_us

"""A whole name server as a process on virtual time.

Its two threads that write files are work of the process: it takes time and waits with the process. A piece of work
happens at one instant. So a crash comes in the middle of it, and control never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from rocketns import namesrv_controller
from rocketns.client import resolving
from rocketns.config import Configuration
from rocketns.files import FileWriter
from rocketns.journal import journal
from rocketns.journal.segments import Store
from rocketns.journal.writer import Chunk, OpenFile, Retention, Writer
from rocketns.namesrv_controller import NamesrvController
from rocketns.processor.context import Now
from rocketns.routeinfo.events import Event
from rocketns.server.clock import Clock
from rocketns.server.listening import Listening
from rocketns.server.reactors import transport
from tests.simulation.disk import Disk
from tests.simulation.filesystem import ROOT, FileSystem
from tests.simulation.network import KeptSocket, ListeningSocket, Network, Socket, VirtualTransport
from tests.simulation.reactors import VirtualReactors, numbered_connections
from tests.simulation.world import START_EPOCH_MS, Process, Violation, VirtualLoop, World

# What the disk work of a process needs: its process, and how long the next piece takes in us.
Working = tuple[Process, Callable[[], int]]


class JournalWork(Writer):
    """The journal's writer. ``lines`` are all lines that it was given."""

    def __init__(self, store: Store, retention: Retention, working: Working) -> None:
        super().__init__(store, retention)
        self.lines: list[bytes] = []
        self.store = store
        self._written: list[tuple[OpenFile, int, int]] = []
        self._process, self._delay_us = working
        self._to_sync: Callable[[], None] | None = None
        self._is_started = self._is_due = False

    @property
    def synced(self) -> int:
        """How many of the lines are on disk."""
        return sum(lines for file, end, lines in self._written if end <= file.synced)

    def start(self, after_attempt: Callable[[], None] = lambda: None) -> None:
        self._after_attempt = after_attempt
        self._is_started = True

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:
        self.lines += bytes(chunk.data).splitlines()
        super().push(chunk, sync=sync)

    def wake(self, *, sync: bool = True) -> None:
        self._sync_is_wanted |= sync
        if self._is_started and not self._is_due:
            self._is_due = True
            self._process.after(self._delay_us(), self._work)

    def _work(self) -> None:
        self._is_due = False
        self._write_pending(stopping=False)
        self._after_attempt()

    def _write(self, chunk: Chunk) -> OpenFile:
        is_new, lines = chunk.end is None, chunk.data.count(b"\n")
        file = super()._write(chunk)
        if is_new and chunk.end is not None:
            self._written.append((file, chunk.end, lines))
        return file

    def _begin_sync(self, sync: Callable[[], None]) -> None:
        """It happens some time later, or when the journal waits for it."""
        self._syncing = Future()
        self._to_sync = partial(self._sync_aside, sync, self._syncing)
        self._process.after(self._delay_us(), self._sync_due)

    def _sync_due(self) -> None:
        to_sync, self._to_sync = self._to_sync, None
        if to_sync is not None:
            to_sync()

    def _end_sync(self) -> None:
        self._sync_due()
        super()._end_sync()

    def _rewind(self) -> None:
        super()._rewind()
        self._written = [one for one in self._written if one[1] <= one[0].synced]

    def stop(self, within_s: float) -> bool:  # noqa: ARG002
        self._write_pending(stopping=True)
        self._end()
        return not self._chunks


class FileWork(FileWriter):
    """The writer of the KV and configuration files."""

    def __init__(self, working: Working, **limits: Any) -> None:
        super().__init__(**limits)
        self._process, self._delay_us = working
        self._writes = SimpleNamespace(put=self._put)  # type: ignore[assignment]

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def _put(self, work: tuple[Any, Any] | None) -> None:
        """Write one file, as the thread does: changes that come meanwhile are in the next write."""
        if work is not None:
            file, batch = work
            self._process.after(self._delay_us(), lambda: self._finish(batch, self._write(file, batch.changes)))


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

            def starting(*given: Any) -> None:
                start(*given)
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


@contextmanager
def substituted(world: World) -> Iterator[None]:
    """Until the end of the block, each controller lives in the simulated process that makes it."""

    def bind(host: str, port: int, *, ipv4_only: bool) -> Any:
        assert not ipv4_only
        process = world.running
        assert isinstance(process, NameServerProcess)
        return Listening(process.bind(host, port))  # type: ignore[arg-type]

    def make_reactors(configuration: Configuration, _slots: Any, _tls_mode: Any) -> VirtualReactors:
        process = world.running
        assert isinstance(process, NameServerProcess)
        return VirtualReactors(configuration, process)

    async def is_own(addr: str, own_port: int) -> bool:
        process = world.running
        assert isinstance(process, NameServerProcess)
        return addr == f"{process.server.host}:{own_port}"

    replaced: list[tuple[Any, str, Callable[..., Any]]] = [
        (namesrv_controller, "bind", bind),
        (namesrv_controller, "fit_connections", lambda _limits: None),
        (namesrv_controller, "release_free_memory", lambda: None),
        (namesrv_controller, "FileWriter", lambda **limits: FileWork(working(world.running), **limits)),
        (resolving, "is_own", is_own),
        (journal, "Writer", lambda store, retention: JournalWork(store, retention, working(world.running))),
        (namesrv_controller, "make_reactors", make_reactors),
        (transport, "ReactorConnection", numbered_connections()),
    ]
    with ExitStack() as stack:
        for module, name, value in replaced:
            stack.enter_context(patch.object(module, name, value))
        yield

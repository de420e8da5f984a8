"""The servers of a play: their connections by name, the outcomes of requests, the addresses that they connect to."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.ports import free_port
from interop.harness.rocketmq.classes import name_server_classpath
from interop.harness.rocketmq.java import CURRENT, SHORT_KEY
from interop.harness.rocketmq.maven import classpath
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import ROCKETMQ, Client, decode_binary_header, eventually, frame, json_header
from interop.parity.language import Setup
from interop.parity.setups import HOME, PEM, describe, pem
from rocketns.shadow.frames import split

ANSWER_WITHIN_S = 60.0
ASK_AGAIN_EVERY_S = 0.02
# An unregistration takes effect within a few milliseconds.
LOOK_AGAIN_EVERY_S = 0.003
HOSTS = ("127.0.0.1", "127.0.0.2")
NO_LOG = '<configuration><root level="OFF"/></configuration>'

_barriers = itertools.count(1)


class Outcome(NamedTuple):
    """What a request led to: "answer" with its whole frame, "closed", or "silent"; "unread" where bytes are left."""

    kind: str
    frame: bytes = b""


CLOSED, SILENT, UNREAD = Outcome("closed"), Outcome("silent"), Outcome("unread")


class Side:
    """A running server, and the connections of a play to it by their names."""

    def __init__(self, server: NameServer) -> None:
        self.server, self.home = server, server.home
        self.connections: dict[str, Client] = {}

    def connection(self, on: str) -> Client:
        if on not in self.connections:
            self.connections[on] = self.fresh()
        return self.connections[on]

    def fresh(self) -> Client:
        """An unnamed connection, for requests outside the play."""
        return Client(self.server.port, timeout_s=ANSWER_WITHIN_S)

    def send(self, on: str, data: bytes) -> None:
        """A server that has closed shows when the answer is taken."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.connection(on).send(data)

    def receive(self, on: str, within_s: float = ANSWER_WITHIN_S) -> Outcome:
        client = self.connection(on)
        client.socket.settimeout(within_s)
        try:
            return Outcome("answer", client.receive_frame())
        except TimeoutError:
            return SILENT
        except (ConnectionError, ssl.SSLError):
            return CLOSED

    def ask(self, on: str, data: bytes) -> Outcome:
        self.send(on, data)
        return self.receive(on)

    def ask_until(self, on: str, data: bytes, enough: Callable[[Outcome], bool], within_s: float) -> Outcome:
        """Ask again and again; the last outcome when time is up."""
        deadline = time.monotonic() + within_s
        while not enough(outcome := self.ask(on, data)) and time.monotonic() < deadline:
            time.sleep(ASK_AGAIN_EVERY_S)
        return outcome

    def receive_many(self, on: str, count: int) -> list[Outcome]:
        """So many answers in the order of their opaques, or fewer and then what came instead."""
        found = []
        for _ in range(count):
            found.append(self.receive(on))
            if found[-1].kind != "answer":
                break
        return sorted(found, key=lambda one: header_of(one.frame)["opaque"] if one.frame else 0)

    def next_move(self, on: str, within_s: float) -> Outcome:
        """What the server does without being asked again: it closes, has sent more, or neither within the time."""
        client = self.connection(on)
        if client.has_buffered:
            return UNREAD
        client.socket.settimeout(within_s)
        try:
            return UNREAD if _peek(client) else CLOSED
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return SILENT
        except OSError:
            return CLOSED

    def state_of(self, on: str) -> str:
        """Whether a connection is open, closed by the server, has bytes that nobody took, or is gone; does not wait."""
        if on not in self.connections:
            return "hung up"
        found = self.next_move(on, 0)
        return "open" if found is SILENT else found.kind

    def handshake(self, on: str, context: ssl.SSLContext) -> str:
        """Open TLS on a connection: the certificate that the server shows, or that it refuses."""
        client = self.connection(on)
        client.socket.settimeout(ANSWER_WITHIN_S)
        try:
            client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        except OSError:  # of which TLS errors and closes are kinds; the socket is closed with it
            del self.connections[on]
            return "refused"
        return describe(client.socket.getpeercert(binary_form=True))

    def hang_up(self, on: str, half: bool = False) -> None:
        client = self.connection(on)
        if half:
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_WR)
        else:
            client.close()
            del self.connections[on]

    def hang_up_all(self) -> None:
        for on in list(self.connections):
            self.hang_up(on)

    def settle(self) -> bytes:
        """Unregistrations and closes are worked off in their order: wait for that of a broker that comes last.

        What 106 shows then.
        """
        name = f"settle-{next(_barriers)}"
        ext = register_ext("settle", name, f"{name}:1")
        with self.fresh() as broker:
            assert broker.request(codes.REGISTER_BROKER, ext | {"bodyCrc32": "0"}).code == codes.SUCCESS
        with self.fresh() as client:
            shown = f'"{name}"'.encode()

            def info_without_it() -> bytes | None:
                info = client.request(codes.GET_BROKER_CLUSTER_INFO).body
                if info is not None and shown not in info:
                    return info
                client.request(codes.UNREGISTER_BROKER, ext)  # the queue may have been full when it closed
                return None

            return bytes(eventually(info_without_it, ANSWER_WITHIN_S, LOOK_AGAIN_EVERY_S))

    def wait_for_expiry(self, on: str, addr: str) -> None:
        """Until the server closes the connection or shows the address nowhere; nothing that is asked is a heartbeat."""
        shown, asked = f'"{addr}"'.encode(), request(codes.GET_BROKER_CLUSTER_INFO)
        with self.fresh() as client:

            def is_over() -> bool:
                client.send(asked)
                return self.state_of(on) == "closed" or shown not in (client.receive().body or b"")

            eventually(is_over, ANSWER_WITHIN_S)

    def terminate(self) -> None:
        """Send SIGTERM."""
        os.kill(self.server.pid, signal.SIGTERM)

    def restart(self, *, killed: bool) -> None:
        if killed:
            self.server.kill()
        else:
            self.server.stop()
        self.hang_up_all()  # not before: a broker that hangs up is gone
        self.server.start()


def header_of(data: bytes) -> dict[str, Any]:
    """The header of a whole frame; a JSON one as json reads it."""
    kind, header, _ = split(data)
    return decode_binary_header(header) if kind == ROCKETMQ else dict(json.loads(header))


def request(code: int, ext: dict[str, str] | None = None, opaque: int = 0, version: int = 513) -> bytes:
    """A frame of the suite's own, beside the scenario's."""
    return frame(json_header(code, ext, opaque=opaque, version=version))


def _peek(client: Client) -> bytes:
    """A byte that stays, or of TLS one that is lost: then it does not matter which."""
    if isinstance(client.socket, ssl.SSLSocket):
        return client.socket.recv(1)
    return client.socket.recv(1, socket.MSG_PEEK)


class Listeners:
    """Listening sockets on the loopback, closed by ``close``. Frames are kept by the process that sent them.

    Each listens at two hosts: the one from which the connections of a play come, and another one.
    """

    def __init__(self, count: int, pids: Sequence[int]) -> None:
        self._pids = pids
        self.ports = tuple(sorted(free_port() for _ in range(count)))
        self._frames: dict[int, list[tuple[int, bytes]]] = {}
        self._sockets: list[socket.socket] = []
        for place, port in enumerate(self.ports):
            for host in HOSTS:
                self._sockets.append(socket.create_server((host, port)))
                threading.Thread(target=self._accept, args=(place, self._sockets[-1]), daemon=True).start()

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def take(self, pid: int, count: int) -> list[tuple[int, bytes]]:
        """Wait for ``count`` frames from a process: which listener got it and the frame, in the listeners' order.

        They are removed here. Fewer if no more arrive.
        """
        with contextlib.suppress(AssertionError):
            eventually(lambda: len(self._frames.get(pid, [])) >= count, ANSWER_WITHIN_S)
        return sorted(self._frames.pop(pid, []), key=lambda one: one[0])

    def _accept(self, place: int, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, (_, port) = listening.accept()
                self._sockets.append(connection)
                threading.Thread(target=self._read, args=(place, connection, port), daemon=True).start()

    def _read(self, place: int, connection: socket.socket, port: int) -> None:
        pid = self._owner(port, self.ports[place])
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                frame = size + stream.read(struct.unpack(">i", size)[0])
                self._frames.setdefault(pid, []).append((place, frame))

    def _owner(self, port: int, listening: int) -> int:
        """The server whose end of a loopback connection has the port. At the same time that of another server may have
        it, on its way to another listener."""

        def find() -> int:
            for pid in self._pids:
                connections = psutil.Process(pid).net_connections("tcp")
                if any(c.raddr and (c.laddr.port, c.raddr.port) == (port, listening) for c in connections):
                    return pid
            return 0

        return int(eventually(find, ANSWER_WITHIN_S))


class Pair:
    """rocketns and, if ``with_java``, the Java name server, started on construction in folders of their own."""

    def __init__(self, setup: Setup, folder: Path, *, with_java: bool) -> None:
        self.setup, self.folder = setup, folder
        self._servers: list[NameServer] = []
        self._stopped = False
        try:
            self.java = self._start(JavaNameServer) if with_java else None
            self.ours = self._start(RocketnsServer)
        except BaseException:
            self.stop()
            raise
        if setup.name == "base":
            for side in self.sides:
                _begin_order(side)
        self.at_start = [settings(side.server.port) if setup.plain else {} for side in self.sides]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def sides(self) -> tuple[Side, ...]:
        """Java's side first, if there is one."""
        return (self.java, self.ours) if self.java else (self.ours,)

    def _start(self, kind: type[NameServer]) -> Side:
        setup, home = self.setup, self.folder / kind.kind
        home.mkdir(parents=True)
        for name, content in setup.files.items():
            write_file(home / name, content)
        options = [option.replace(HOME, str(home)) for option in setup.options]
        if kind is JavaNameServer:
            options = [*java_options(home, long_key=setup.long_key, release=setup.release), *options]
        properties: dict[str, object] = {
            key: str(value).replace(HOME, str(home)) for key, value in setup.properties.items()
        }
        server = kind(home, properties, options=options, env=dict(setup.env))
        self._servers.append(server)
        return Side(server)

    def are_running(self) -> bool:
        return not self._stopped and all(server.process.popen.poll() is None for server in self._servers)

    def stop(self) -> None:
        """Stop all at once; no test reads their last output."""
        self._stopped = True
        for server in self._servers:
            server.kill()


def _begin_order(side: Side) -> None:
    """The namespace of the order configuration stays once it was there. So it is from the start, whatever is played."""
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": "x"}
    with side.fresh() as client:
        client.request(codes.PUT_KV_CONFIG, item | {"value": "x"})
        client.request(codes.DELETE_KV_CONFIG, item)


def java_options(home: Path, *, long_key: bool = False, release: str = CURRENT) -> list[str]:
    """Without a log. Java takes the last -cp."""
    write_file(home / "logback.xml", NO_LOG)
    jars = classpath(CURRENT) if release == CURRENT else name_server_classpath()
    return [f"-Drmq.logback.configurationFile={home}/logback.xml", *(() if long_key else (SHORT_KEY,)), "-cp", jars]


def write_file(path: Path, content: str) -> None:
    """A text, in which HOME is the file's folder, or a certificate or key by its name.

    Written atomically: Java's file watch takes a half-written file for a changed one and keeps it.
    """
    if content.startswith(PEM):
        data = pem(content.removeprefix(PEM))
    else:
        data = content.replace(HOME, str(path.parent)).encode()
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    beside.replace(path)


def settings(port: int) -> dict[str, str]:
    """What GET_NAMESRV_CONFIG shows, in its order; nothing in cluster-test mode."""
    with Client(port) as client:
        body = client.request(319).body or b""
    return dict(line.split("=", 1) for line in body.decode().splitlines() if "=" in line)

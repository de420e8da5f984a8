"""What a scenario starts: name servers, brokers, clients and mqadmin, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol, TypeVar

from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.relay import Relay
from interop.harness.rocketmq.admin import Admin
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, NO_TLS
from interop.harness.sending.clients import JavaClient, start
from interop.harness.servers import JavaNameServer, NameServer
from interop.harness.views import have_registered


class Killable(Protocol):
    def kill(self) -> object: ...


class Listening(Protocol):
    """A name server, or a relay to one."""

    port: int


# Name servers, or the list as text.
Servers = Iterable[Listening] | str
One = TypeVar("One", bound=Killable)


class Fleet(ExitStack):
    """Starts things below ``home``; its end kills them, the last one first. ``kind``: that of its name servers."""

    def __init__(self, kind: type[NameServer], home: Path) -> None:
        super().__init__()
        self._kind, self._home = kind, home
        self._folders = 0

    def kills(self, one: One) -> One:
        """Have it killed at the end."""
        self.callback(one.kill)
        return one

    def folder(self, name: str) -> Path:
        """A new folder."""
        self._folders += 1
        folder = self._home / f"{name}-{self._folders}"
        folder.mkdir(parents=True)
        return folder

    def name_server(self, properties: Mapping[str, object] = {}, options: Iterable[str] = ()) -> NameServer:
        """A name server on a port that it has again after a restart. ``options`` are system properties."""
        settings = {"listenPort": free_port(), **properties}
        return self.kills(self._kind(self.folder("ns"), settings, options=[*options]))

    def java(self, properties: Mapping[str, object] = {}) -> JavaNameServer:
        """Java's name server, on a port that it has again after a restart."""
        settings = {"listenPort": free_port(), **properties}
        return self.kills(JavaNameServer(self.folder("java"), settings, options=[NO_TLS]))

    def broker(self, name: str, *servers: NameServer, **more: object) -> Broker:
        """A broker that knows these name servers, and is registered with them."""
        broker = self.unregistered(name, servers, **more)
        have_registered(broker, *servers)
        return broker

    def unregistered(self, name: str, servers: Servers, **more: object) -> Broker:
        """A broker that has booted."""
        return self.kills(Broker(self.folder(name), name, _list(servers), **more))  # type: ignore[arg-type]

    def producer(
        self, servers: Servers, topic: str, count: int, *, pause_ms: int = 0, main: str = "Producer", **more: Any
    ) -> JavaClient:
        """It prints READY, SENT n or FAILED n reason, DONE."""
        return self.client(main, servers, topic, count, pause_ms, **more)

    def consumer(
        self, servers: Servers, topic: str, group: str, *, main: str = "PushConsumer", **more: Any
    ) -> JavaClient:
        """It prints READY, GOT text for each message from the topic's beginning, DONE."""
        return self.client(main, servers, topic, group, **more)

    def client(
        self, main: str, servers: Servers, *arguments: object, version: str = CURRENT, options: tuple[str, ...] = ()
    ) -> JavaClient:
        """A class of ``interop/java``; its first argument is the list of name servers."""
        words = [_list(servers), *map(str, arguments)]
        return self.kills(start(self.folder(main), main, words, version, options))

    def program(self, name: str, command: list[str], env: dict[str, str]) -> JavaClient:
        """A client of another language."""
        folder = self.folder(name)
        process = Process(command, folder / "stdout.log", {"HOME": str(folder)} | env, cwd=folder)
        return self.kills(JavaClient(process))

    def admin(self, *servers: Listening, options: tuple[str, ...] = ()) -> Admin:
        return self.kills(Admin(self.folder("admin"), name_server_list(*servers), options))

    def relay(self, port: int, source: str = "127.0.0.1") -> Relay:
        """A relay to a port of this machine."""
        return self.enter_context(closing(Relay(port, source)))


def _list(servers: Servers) -> str:
    return servers if isinstance(servers, str) else name_server_list(*servers)


def name_server_list(*servers: Listening) -> str:
    """The list as brokers, clients and mqadmin take it."""
    return ";".join(f"127.0.0.1:{server.port}" for server in servers)

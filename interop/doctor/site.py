"""A site: machines, a Java and a rocketns name server side by side, brokers that register with both, and a client's
machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interop.doctor.network import IpScope, Machine
from interop.harness import views
from interop.harness.rocketmq.admin import AdminCommand
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import NO_TLS, Java
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer

NAME_SERVER_PORT, BROKER_PORT = 9876, 10911
CLUSTER = "Shop"
# Last numbers of the addresses; brokers have those from the last one on.
JAVA, ROCKETNS, CLIENT, FIRST_BROKER = 11, 12, 31, 21
EVERYWHERE = "0.0.0.0"
MQADMIN = "org.apache.rocketmq.tools.command.MQAdminStartup"
# What mqadmin prints when a change was made.
DONE = r"success|OK, \d+"


@dataclass
class Pair:
    """Both name servers, each on a machine of its own."""

    java: NameServer
    rocketns: NameServer

    def __iter__(self) -> Iterator[NameServer]:
        yield from (self.java, self.rocketns)

    def __str__(self) -> str:
        """Both as brokers and mqadmin take them."""
        return ";".join(map(address_of, self))


def address_of(server: NameServer) -> str:
    return f"{server.host}:{server.port}"


@dataclass
class Site:
    """What runs at it. ``client`` is the machine of clients and of the doctor."""

    fleet: Fleet
    network: IpScope
    client: Machine
    brokers_machines: dict[int, Machine] = field(default_factory=dict)

    def name_servers(self, options: Iterable[str] = ()) -> Pair:
        """Both kinds with the same options; Java's takes no TLS unless they say so."""
        words = [*options]
        return Pair(
            self.name_server(JavaNameServer, self.network.machine("ns1", JAVA), [NO_TLS, *words]),
            self.name_server(RocketnsServer, self.network.machine("ns2", ROCKETNS), words),
        )

    def name_server(
        self, kind: type[NameServer], machine: Machine, options: list[str], port: int = NAME_SERVER_PORT
    ) -> NameServer:
        """One that listens on all addresses of a machine."""
        settings = {"listenPort": port, "bindAddress": EVERYWHERE}
        with machine.inside():
            server = self.fleet.kills(kind(self.fleet.folder(machine.name), settings, options=options))
        server.host = machine.address
        return server

    def machine(self, number: int) -> Machine:
        """The broker's machine of a number, made when first used."""
        if number not in self.brokers_machines:
            self.brokers_machines[number] = self.network.machine(f"broker{number}", number)
        return self.brokers_machines[number]

    def broker(self, name: str, servers: Iterable[NameServer] | str, *, on: Machine | None = None, announced: str = "",
               properties: Mapping[str, object] = {}, **more: Any) -> Broker:  # fmt: skip
        """A broker that has booted. ``announced``: its brokerIP1, where that is not its machine's address."""
        machine = on or self.machine(FIRST_BROKER)
        known = servers if isinstance(servers, str) else ";".join(map(address_of, servers))
        announces = {"brokerIP1": announced, "brokerIP2": announced, "bindAddress": EVERYWHERE} if announced else {}
        own = {"brokerClusterName": CLUSTER, "listenPort": BROKER_PORT, **announces, **properties}
        with machine.inside():
            return self.fleet.kills(
                Broker(
                    self.fleet.folder(name), name, known, properties=own, host=machine.address, port=BROKER_PORT, **more
                )
            )

    def registered(self, broker: Broker, servers: Iterable[NameServer], *, on: Machine | None = None,
                   announced: str = "") -> None:  # fmt: skip
        """Wait until the name servers show the broker, and have it register until then."""
        with (on or self.machine(FIRST_BROKER)).inside():
            views.have_registered(broker, *servers, address=announced and f"{announced}:{BROKER_PORT}")

    def running(self, name: str, servers: Iterable[NameServer], **more: Any) -> Broker:
        """A broker that has registered."""
        broker = self.broker(name, servers, **more)
        self.registered(broker, servers, on=more.get("on"), announced=more.get("announced", ""))
        return broker

    def runs(self, *commands: str) -> None:
        """Run commands of mqadmin on the client's machine, as they were printed, until each has begun to say what it
        changed. It goes on: it takes five seconds more to end."""
        for command in commands:
            program, *words = shlex.split(command)
            assert program == "mqadmin", command
            with self.client.inside():
                process = Java(self.fleet.folder("mqadmin")).start(MQADMIN, *words, output="stdout.log")
            self.fleet.kills(process)
            process.wait_for(rf"{DONE}|SubCommandException")
            AdminCommand(tuple(words), process.text()).prints(DONE)

    def error_of_producer(self, servers: Pair | NameServer, topic: str, tries: int = 3) -> str:
        """What a Java producer on the client's machine says when it sends so many messages; nothing if they are sent.
        On a busy machine one of them may be late, and its error says only that."""
        known = str(servers) if isinstance(servers, Pair) else address_of(servers)
        with self.client.inside():
            producer: JavaClient = self.fleet.producer(known, topic, tries)
            producer.wait_for("DONE")
        return "\n".join(producer.values("FAILED"))


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    """A site; its end kills what runs at it."""
    with ExitStack() as stack:
        network = stack.enter_context(IpScope())
        fleet = stack.enter_context(Fleet(RocketnsServer, folder))
        yield Site(fleet, network, network.machine("client", CLIENT))

"""Three rocketns with journals, two real brokers, a producer and two consumers of one group; one connection can be cut.

c1 queries n1, and c2 queries n2. Only broker-b reaches n2 through a relay, so a cut there removes broker-b from c2's
view alone. c1 and c2 have addresses of their own, in their client ids and towards the name servers, as on two hosts.
The clients and the audit both order them by these addresses.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from interop.harness.ports import free_port
from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.clients import JavaClient, start_consumer, start_producer
from interop.harness.servers import RocketnsServer
from interop.harness.topics import QUEUES, create_topic
from interop.harness.views import have_registered

NAME_SERVERS = ("n1", "n2", "n3")
TOPIC, GROUP = "order_topic", "order_group"
A, B = (frozenset(f"{broker}:{q}" for q in range(QUEUES)) for broker in ("broker-a", "broker-b"))
ADDRESSES = {"c1": "127.0.0.11", "c2": "127.0.0.12"}
ASKS = {"c1": "n1", "c2": "n2"}
PAUSE_MS = 20
# Heartbeats alone tell a clock up to their period only. This many changes of a data version tell it exactly.
VERSIONS = 4

# Shorter than the defaults of 120 s, 30 s and 120 s, so that the test takes two minutes.
BROKER_TIMEOUT_S, CLIENT_HEARTBEAT_S, MEMBER_TIMEOUT_S = 15, 1, 20
BROKER = {
    # Only a broker of a group that may have an acting master tells the name server its timeout.
    "enableSlaveActingMaster": "true",
    "skipPreOnline": "true",
    "brokerHeartbeatInterval": 1000,
    "brokerNotActiveTimeoutMillis": BROKER_TIMEOUT_S * 1000,
    "channelExpiredTimeout": MEMBER_TIMEOUT_S * 1000,
}
NAME_SERVER = {
    "scanNotActiveBrokerInterval": 1000,
    "journalRotationSeconds": 5,
    "journalLookupSeconds": 2,
    "journalLookupClients": "true",
}


@dataclass
class Deployment:
    """The running processes. ``servers`` are n1, n2, n3; ``between`` is the relay between broker-b and n2."""

    journal: Path
    servers: list[RocketnsServer]
    between: Relay
    consumers: dict[str, JavaClient]
    producer: JavaClient


def started(home: Path, stack: ExitStack) -> Deployment:
    """Start everything; the stack ends it."""
    journal = home / "journal"
    servers = [_name_server(home / ns, journal, ns, stack) for ns in NAME_SERVERS]
    between = _relay(servers[1].port, "127.0.0.1", stack)
    ports = [server.port for server in servers]
    broker_a = _start_broker(home / "a", "broker-a", ports, servers, stack)
    _start_broker(home / "b", "broker-b", [ports[0], between.port, ports[2]], servers, stack)
    for number in range(VERSIONS):
        create_topic(broker_a.port, f"changed_{number}")
    by_name = dict(zip(NAME_SERVERS, servers, strict=True))
    consumers = {name: _consumer(home, name, by_name[ns], stack) for name, ns in ASKS.items()}
    producer = start_producer(
        home / "producer", _list([ports[2]]), TOPIC, 1_000_000, pause_ms=PAUSE_MS, main="QueueProducer"
    )
    stack.callback(producer.kill)
    return Deployment(journal, servers, between, consumers, producer)


def now_ms() -> int:
    """The clock that clients, name servers and the test print their times by."""
    return time.time_ns() // 1_000_000


def _name_server(home: Path, journal: Path, ns: str, stack: ExitStack) -> RocketnsServer:
    settings = NAME_SERVER | {"listenPort": free_port(), "journalPath": journal, "journalNs": ns}
    server = RocketnsServer(home, settings)
    stack.callback(server.kill)
    return server


def _start_broker(home: Path, name: str, ports: list[int], servers: list[RocketnsServer], stack: ExitStack) -> Broker:
    broker = Broker(home, name, _list(ports), properties=BROKER, topics=[TOPIC])
    stack.callback(broker.kill)
    have_registered(broker, *servers)
    return broker


def _consumer(home: Path, name: str, server: RocketnsServer, stack: ExitStack) -> JavaClient:
    address = ADDRESSES[name]
    relay = _relay(server.port, address, stack)
    consumer = start_consumer(
        home / name, _list([relay.port]), TOPIC, GROUP, main="QueueConsumer", options=(f"-Dinterop.clientIP={address}",)
    )
    stack.callback(consumer.kill)
    return consumer


def _relay(port: int, source: str, stack: ExitStack) -> Relay:
    relay = Relay(port, source)
    stack.callback(relay.close)
    return relay


def _list(ports: list[int]) -> str:
    return ";".join(f"127.0.0.1:{port}" for port in ports)

"""Three rocketns with journals, two real brokers, a producer and two consumers of one group; one connection can be cut.

c1 queries n1, and c2 queries n2. Only broker-b reaches n2 through a relay, so a cut there removes broker-b from c2's
view alone. c1 and c2 have addresses of their own, in their client ids and towards the name servers, as on two hosts.
The clients and the audit both order them by these addresses.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from interop.harness.relay import Relay
from interop.harness.sending.clients import TELLS_QUEUES, JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
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
    servers: list[NameServer]
    between: Relay
    consumers: dict[str, JavaClient]
    producer: JavaClient


def started(fleet: Fleet) -> Deployment:
    """Start everything."""
    journal = fleet.folder("journal")
    servers = [fleet.name_server(NAME_SERVER | {"journalPath": journal, "journalNs": ns}) for ns in NAME_SERVERS]
    between = fleet.relay(servers[1].port)
    broker_a = fleet.broker("broker-a", *servers, properties=BROKER, topics=[TOPIC])
    relayed = [servers[0], between, servers[2]]
    have_registered(fleet.unregistered("broker-b", relayed, properties=BROKER, topics=[TOPIC]), *servers)
    for number in range(VERSIONS):
        create_topic(broker_a.port, f"changed_{number}")
    by_name = dict(zip(NAME_SERVERS, servers, strict=True))
    consumers = {name: _consumer(fleet, ADDRESSES[name], by_name[ns]) for name, ns in ASKS.items()}
    producer = fleet.producer([servers[2]], TOPIC, 1_000_000, pause_ms=PAUSE_MS, options=TELLS_QUEUES)
    return Deployment(journal, servers, between, consumers, producer)


def now_ms() -> int:
    """The clock that clients, name servers and the test print their times by."""
    return time.time_ns() // 1_000_000


def _consumer(fleet: Fleet, address: str, server: NameServer) -> JavaClient:
    relay, options = fleet.relay(server.port, address), (f"-Dinterop.clientIP={address}",)
    return fleet.consumer([relay], TOPIC, GROUP, main="QueueConsumer", options=options)

"""Two Java name servers and two rocketns, with two brokers that know all four.

broker-b reaches j2 and n2 through relays. Both links are cut at the same moment, so both kinds of name server see the
same fault. n1 and n2 write their own journals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet, Listening
from interop.harness.servers import NameServer
from interop.harness.topics import create_topic
from interop.harness.views import have_registered
from interop.harness.wire import eventually

JAVA, OWN = ("j1", "j2"), ("n1", "n2")
NAMES = (*JAVA, *OWN)
# The server of each kind that broker-b is cut off from.
CUT_OFF = ("j2", "n2")
TOPIC = "order_topic"
# Instead of 120 s: only a broker of a group that may have an acting master tells its timeout, to Java too.
BROKER_TIMEOUT_S = 15
BROKER = {
    "enableSlaveActingMaster": "true",
    "skipPreOnline": "true",
    "brokerHeartbeatInterval": 1000,
    "brokerNotActiveTimeoutMillis": BROKER_TIMEOUT_S * 1000,
}
SCAN = {"scanNotActiveBrokerInterval": 1000}
JOURNAL = {"journalRotationSeconds": 5, "journalLookupSeconds": 2}
# Changes of a data version tell the audit a clock exactly; heartbeats tell it up to their period only.
VERSIONS = 4
ANSWERS_WITHIN_S = 60.0


@dataclass
class Cluster:
    """The running processes. ``own`` is the folder of the journals of n1 and n2."""

    own: Path
    servers: dict[str, NameServer]
    links: list[Relay]
    brokers: dict[str, Broker]


def started(fleet: Fleet) -> Cluster:
    """Start everything; each name server then has both brokers."""
    own = fleet.folder("own")
    servers: dict[str, NameServer] = {name: fleet.java(SCAN) for name in JAVA}
    servers |= {name: fleet.name_server(SCAN | JOURNAL | {"journalPath": own, "journalNs": name}) for name in OWN}
    links = {name: fleet.relay(servers[name].port) for name in CUT_OFF}
    known: dict[str, dict[str, Listening]] = {"broker-a": {**servers}, "broker-b": {**servers, **links}}
    brokers = {
        name: fleet.unregistered(name, of.values(), properties=BROKER, topics=[TOPIC]) for name, of in known.items()
    }
    for broker in brokers.values():
        have_registered(broker, *servers.values())
        # Of a process' answers to what the collector asks, the first takes longest.
        eventually(partial(_answers, broker), ANSWERS_WITHIN_S)
    for number in range(VERSIONS):
        create_topic(brokers["broker-a"].port, f"changed_{number}")
    return Cluster(own, servers, list(links.values()), brokers)


def _answers(broker: Broker) -> bool:
    return broker.stored_bytes() >= 0

"""How brokers come, register and leave: stopped, killed and frozen ones, slaves, IPv6, the newest release."""

from __future__ import annotations

import json
import re
import struct
import time
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from interop.harness import codes, views
from interop.harness.ports import IPV6, has_ipv6
from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import REGISTRATION_PERIOD_S, Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.maven import NEWEST, classpath
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.views import have_registered
from interop.harness.wire import eventually

# Only a broker with acting master on tells its timeout (the others get 120 s), and it beats once a second.
TIMEOUT_S, BEAT_S, SCAN_S = 5.0, 1.0, 0.5
QUICK_EXPIRY = {
    "enableSlaveActingMaster": "true",
    "brokerHeartbeatInterval": int(BEAT_S * 1000),
    "brokerNotActiveTimeoutMillis": int(TIMEOUT_S * 1000),
}
# Far below the 120 s after which these brokers would expire, and far above any delay of the machine.
AT_ONCE_S = 60.0


def test_stopped_broker_is_gone_while_it_still_shuts_down(fleet: Fleet) -> None:
    """B179: the broker unregisters first and then takes seconds to stop."""
    server = fleet.name_server()
    broker = fleet.broker("broker-a", server)
    assert views.routes(server)

    broker.ask_to_stop()
    eventually(lambda: not views.brokers(server), AT_ONCE_S)
    assert server.port in broker.connected_ports(), "the close of its connection removed it, not the unregistration"
    assert not views.routes(server)
    eventually(lambda: "unregisterBroker OK" in broker.log(), AT_ONCE_S)


def test_killed_broker_is_gone_when_its_connection_closes(fleet: Fleet) -> None:
    """B187: nothing is sent, the closed connection is enough; the other broker stays."""
    server = fleet.name_server()
    killed, other = fleet.broker("broker-a", server), fleet.broker("broker-b", server)

    killed.kill()
    eventually(lambda: views.brokers(server) == {"broker-b": {0: other.address}}, AT_ONCE_S)
    assert {q["brokerName"] for r in views.routes(server).values() for q in r["queueDatas"]} == {"broker-b"}


def test_frozen_broker_expires_and_returns_when_it_thaws(fleet: Fleet) -> None:
    """B190: its connection stays open, only the heartbeats stop."""
    server = fleet.name_server({"scanNotActiveBrokerInterval": int(SCAN_S * 1000)})
    broker = fleet.broker("broker-a", server, properties=QUICK_EXPIRY)

    broker.freeze()
    frozen_at = time.monotonic()
    eventually(lambda: not views.brokers(server), TIMEOUT_S + AT_ONCE_S)
    # The last beat came at most one interval, and any delay of the machine, before the freeze.
    assert time.monotonic() - frozen_at > TIMEOUT_S - 4 * BEAT_S
    assert not views.routes(server)
    assert broker.is_running()

    broker.thaw()
    eventually(lambda: views.brokers(server) == {"broker-a": {0: broker.address}}, REGISTRATION_PERIOD_S + AT_ONCE_S)


TOPIC = "Replicated"
MESSAGES = 50
GONE_WITHIN_S = 60.0
# With its timer wheel a slave asks its master for the timer's checkpoint every 3 s, from 10 s after its boot.
# All else that it asks for comes a minute later.
MASTER = {"brokerRole": "ASYNC_MASTER", "brokerId": 0, "timerWheelEnable": "true"}
SLAVE = {"brokerRole": "SLAVE", "brokerId": 1, "timerWheelEnable": "true"}


def test_slave_finds_its_master_and_the_route_follows_the_master(fleet: Fleet) -> None:
    """B113, B153, B187: the slave knows only the name server, whose answer names its master."""
    server = fleet.name_server()
    master = fleet.broker("broker-a", server, properties=MASTER)
    assert len(fleet.producer([server], TOPIC, MESSAGES).wait_for("SENT", MESSAGES)) == MESSAGES
    slave = fleet.broker("broker-a", server, properties=SLAVE)
    both = {"broker-a": {0: master.address, 1: slave.address}}
    assert views.addresses(server, TOPIC) == both
    _wait_until_it_knows_its_master(slave, master)

    master.kill()
    eventually(lambda: views.addresses(server, TOPIC) == {"broker-a": {1: slave.address}}, GONE_WITHIN_S)
    assert views.brokers(server) == {"broker-a": {1: slave.address}}

    master.start()
    eventually(lambda: views.addresses(server, TOPIC) == both, master.registered_within_s)
    assert views.perms(server, TOPIC)["broker-a"] & 2, "the topic is writable again"


def _wait_until_it_knows_its_master(slave: Broker, master: Broker) -> None:
    """The slave copies the messages (from the answer's haServerAddr) and asks its master (masterAddr) for the rest."""
    eventually(lambda: 0 < master.stored_bytes() == slave.stored_bytes(), slave.registered_within_s, every_s=0.2)
    asked = {master.fast_port, master.ha_port}
    eventually(lambda: slave.connected_ports() >= asked, slave.registered_within_s, every_s=0.2)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1, so no broker is run over IPv6")
def test_messages_arrive_where_all_addresses_are_of_ipv6(fleet: Fleet) -> None:
    """B245: the broker announces ``::1:port``. One client has the name server's address with brackets, one without."""
    server = fleet.name_server({"bindAddress": IPV6})
    server.host = IPV6
    plain, bracketed = f"{IPV6}:{server.port}", f"[{IPV6}]:{server.port}"
    broker = fleet.unregistered("broker-a", bracketed, topics=[TOPIC], host=IPV6)
    views.have_registered(broker, server)
    assert views.addresses(server, TOPIC) == {"broker-a": {0: f"{IPV6}:{broker.port}"}}
    producer = fleet.producer(bracketed, TOPIC, MESSAGES)
    consumer = fleet.consumer(plain, TOPIC, "readers")
    assert_each_arrives_once(producer, consumer, MESSAGES)


V5_5_1 = 515


def build() -> None:
    classpath(NEWEST)


def test_broker_and_clients_of_5_5_1_use_a_name_server_that_stands_for_it(fleet: Fleet) -> None:
    """The client's jar is that of 5.5.0, for Maven Central has no other; its common and remoting are of 5.5.1."""
    server = fleet.name_server({"rocketns.compatibleVersion": NEWEST})
    broker = fleet.broker("broker-a", server, version=NEWEST, topics=[TOPIC])
    assert views.brokers(server) == {"broker-a": {0: broker.address}}
    producer = fleet.producer([server], TOPIC, MESSAGES, version=NEWEST)
    producer.wait_for("DONE")
    consumer = fleet.consumer([server], TOPIC, "readers", version=NEWEST)
    assert_each_arrives_once(producer, consumer, MESSAGES)
    with server.connect() as client:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
    assert (answer.code, answer.header["version"]) == (0, V5_5_1)


TOPICS = [f"Unchanged-{n}" for n in range(50)]
UNCHANGED_MIN = 2
WITHIN_S = 6 * REGISTRATION_PERIOD_S
COUNTED = re.compile(r"registrations: (\d+), (\d+) of them repeated the broker's last body")


def bodies(relay: Relay) -> list[bytes]:
    """The bodies of the registrations that passed."""
    return [body for sent in relay.sent for body in _registrations(bytes(sent))]


def _registrations(sent: bytes) -> Iterator[bytes]:
    at = 0
    while len(sent) - at >= 4:
        (size,) = struct.unpack_from(">i", sent, at)
        if len(sent) - at < 4 + size:
            return
        (header_size,) = struct.unpack_from(">i", sent, at + 4)
        header = json.loads(sent[at + 8 : at + 8 + header_size])
        if header["code"] == codes.REGISTER_BROKER and not header["flag"] & 1:
            yield sent[at + 8 + header_size : at + 4 + size]
        at += 4 + size


def statement(body: bytes) -> Any:
    """The broker's data: the body without the time at which a 5.x broker wrote it."""
    if body[:1] == b"\x78":
        return zlib.decompress(body)
    fields = json.loads(body)
    fields["topicConfigSerializeWrapper"].get("mappingDataVersion", {}).pop("timestamp", None)
    return fields


def unchanged(relay: Relay) -> int:
    return sum(statement(one) == statement(other) for one, other in pairwise(bodies(relay)))


@pytest.mark.parametrize("compressed", ["false", "true"], ids=["plain", "compressed"])
@pytest.mark.parametrize("version", [CURRENT, OLD])
def test_unchanged_registrations_of_a_real_broker_are_not_decoded_again(
    fleet: Fleet, version: str, compressed: str
) -> None:
    """B147: the first and each changed registration is decoded, and no other. A plain body of 5.x never repeats its
    bytes: it has the current time in mappingDataVersion."""
    server = fleet.name_server()
    relay = fleet.relay(server.port)
    settings = {"compressedRegister": compressed}
    broker = fleet.unregistered("broker-a", [relay], version=version, properties=settings, topics=TOPICS)
    have_registered(broker, server)
    eventually(lambda: unchanged(relay) >= UNCHANGED_MIN, WITHIN_S, every_s=0.5)
    broker.kill()
    assert server.stop() == 0
    counted = COUNTED.search(server.process.text())
    assert counted, server.process.text()[-4000:]
    came = bodies(relay)
    assert [int(n) for n in counted.groups()] == [len(came), unchanged(relay)]
    if version == CURRENT and compressed == "false":
        assert len(set(came)) == len(came)
    else:
        assert len(set(came)) == len(came) - unchanged(relay)

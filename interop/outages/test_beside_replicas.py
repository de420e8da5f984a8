"""Brokers that register with rocketns beside Java's name server are told the same by both (docs/migration.md, listen).

A broker takes masterAddr, haServerAddr and the order configuration from the first answer, and rocketns answers before
Java. So each of its answers is compared with that of Java to the same registration.
"""

from __future__ import annotations

import shutil
from typing import Any

from interop.harness import codes, views
from interop.harness.frames import answered
from interop.harness.ports import free_port
from interop.harness.relay import Relay
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from interop.operating.test_mqadmin import ORDER
from interop.outages.test_beside import diff
from tests.behaviour.views import loads

TOPIC = "Replicated"
MASTER, SLAVE = {"brokerRole": "ASYNC_MASTER", "brokerId": 0}, {"brokerRole": "SLAVE", "brokerId": 1}
WITHIN_S = 120.0

# What a broker is told: extFields, and the body as JSON.
Told = tuple[dict[str, str], Any]


def told(relay: Relay, broker_id: int) -> list[Told]:
    """The answers to the registrations of broker-a with this id, each different one once, in order."""
    found: list[Told] = []
    for request, answer in answered(relay, codes.REGISTER_BROKER):
        if request.fields["brokerId"] == str(broker_id):
            assert answer.header["code"] == codes.SUCCESS, answer.header
            one = (answer.fields, loads(answer.body) if answer.body else None)
            found += [one] if one not in found else []
    return found


def test_a_slave_learns_its_master_and_the_order_of_topics_as_from_java(fleet: Fleet) -> None:
    """B153: the slave boots after its master, with rocketns first in its list."""
    java = fleet.java()
    with java.connect() as client:
        client.request(codes.PUT_KV_CONFIG, {"namespace": ORDER, "key": TOPIC, "value": "broker-a:4"})
    home = fleet.folder("ns")
    shutil.copy(java.home / "kvConfig.json", home)  # as docs/operating.md says: it cannot be read over the wire
    ours = fleet.kills(RocketnsServer(home, {"listenPort": free_port()}))
    relays = [fleet.relay(ours.port), fleet.relay(java.port)]

    master = fleet.unregistered("broker-a", relays, properties=MASTER, topics=[TOPIC])
    views.have_registered(master, java, ours)
    slave = fleet.unregistered("broker-a", relays, properties=SLAVE)
    views.have_registered(slave, java, ours)
    eventually(lambda: all(told(relay, SLAVE["brokerId"]) for relay in relays), WITHIN_S)

    for_slave, for_master = ([told(relay, broker_id) for relay in relays] for broker_id in (1, 0))
    assert for_slave[0] == for_slave[1]
    assert for_master[0] == for_master[1]
    fields, order = for_slave[0][-1]
    assert (fields["masterAddr"], fields["haServerAddr"]) == (master.address, f"127.0.0.1:{master.ha_port}")
    assert order["table"][TOPIC] == "broker-a:4"
    eventually(lambda: master.ha_port in slave.connected_ports(), WITHIN_S, every_s=0.2)
    assert diff(name_server_list(java), name_server_list(ours)) == 0

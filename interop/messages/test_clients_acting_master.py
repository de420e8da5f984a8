"""A slave as acting master: what clients read while the master is away, and how the brokers are notified."""

from __future__ import annotations

import re
from collections import Counter

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually

TOPIC = "Acted"
MESSAGES = 100
GONE_WITHIN_S = 60.0
NAME_SERVER = {"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"}
ACTING = {
    "enableSlaveActingMaster": "true",
    "totalReplicas": 2,
    "inSyncReplicas": 1,
    "brokerHeartbeatInterval": 1000,
    "timerWheelEnable": "true",
}
# Before it registers again a 5.5.0 master fetches the offsets that its slave has kept, and fails to parse them
# (fastjson2: "not support unquoted name") for as long as there are any.
MASTER = ACTING | {"brokerRole": "ASYNC_MASTER", "brokerId": 0, "skipPreOnline": "true"}
SLAVE = ACTING | {"brokerRole": "SLAVE", "brokerId": 1, "slaveReadEnable": "true"}


def test_slave_acts_for_its_master_until_the_master_is_back(fleet: Fleet) -> None:
    """B185, B192, B193, B207, B153: shown as id 0 without write permission; the slave is notified (905)."""
    server = fleet.name_server(NAME_SERVER)
    master = fleet.broker("broker-a", server, properties=MASTER, topics=[TOPIC])
    # A slave asks its master for new topics once a minute; this one has it from the start.
    slave = fleet.broker("broker-a", server, properties=SLAVE, topics=[TOPIC])
    both = {"broker-a": {0: master.address, 1: slave.address}}
    eventually(lambda: views.addresses(server, TOPIC) == both, slave.registered_within_s)
    steady = fleet.consumer([server], TOPIC, "steady")
    _send(fleet, server)
    eventually(lambda: 0 < master.stored_bytes() == slave.stored_bytes(), slave.registered_within_s, every_s=0.2)

    master.kill()
    eventually(lambda: views.addresses(server, TOPIC) == {"broker-a": {0: slave.address}}, GONE_WITHIN_S)
    assert views.brokers(server) == {"broker-a": {1: slave.address}}
    assert not views.perms(server, TOPIC)["broker-a"] & 2
    _wait_until_notified(slave, 1)
    late = fleet.consumer([server], TOPIC, "without-master")
    late.wait_for("GOT", MESSAGES)
    late.stop()
    assert Counter(late.values("GOT")) == Counter(map(str, range(MESSAGES)))

    master.start()
    eventually(lambda: views.addresses(server, TOPIC) == both, master.registered_within_s)
    assert views.perms(server, TOPIC)["broker-a"] & 2
    _wait_until_notified(slave, 0)
    _send(fleet, server)
    # Across a change of the broker that keeps its offsets a group gets each message at least once.
    eventually(lambda: min(_times(steady).values(), default=0) >= 2 and len(_times(steady)) == MESSAGES, 180.0)


def _send(fleet: Fleet, server: NameServer) -> None:
    producer = fleet.producer([server], TOPIC, MESSAGES)
    producer.wait_for("DONE")
    assert len(producer.values("SENT")) == MESSAGES


def _times(consumer: JavaClient) -> Counter[str]:
    return Counter(consumer.values("GOT"))


def _wait_until_notified(broker: Broker, lowest: int) -> None:
    """The line is written only for the name server's notification; what brokers ask for themselves is told apart."""
    line = rf"min broker id changed, prev \d, new {lowest}\n"
    eventually(lambda: re.search(line, broker.log()), GONE_WITHIN_S, every_s=0.2)

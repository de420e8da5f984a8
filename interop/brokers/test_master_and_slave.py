"""A master and its slave: how they find each other, and the routes of clients while the master is away."""

from __future__ import annotations

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

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

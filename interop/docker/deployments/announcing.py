"""Brokers that only announce themselves, from this machine to a name server in a container."""

from __future__ import annotations

from interop.docker.containers import Container
from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.behaviour import views

TOPIC = "Orders"


def announce(client: Client, broker: str, topics: list[str], *, address: str = "10.0.0.1:10911") -> None:
    """Register a broker; it stays as long as the connection."""
    body = register_body([topic_config(topic) for topic in topics])
    answer = client.request(codes.REGISTER_BROKER, register_ext(broker=broker, addr=address, body=body), body)
    assert answer.code == 0, answer.remark


def assert_registers_and_finds(container: Container) -> None:
    """A broker registers, and a client gets its route and the cluster's."""
    with container.connect() as broker, container.connect() as client:
        announce(broker, "broker-a", [TOPIC, "Payments"])  # a first registration of a single topic is refused
        assert views.route(client, TOPIC)["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:10911"}
        assert views.addrs(client, "broker-a") == {"0": "10.0.0.1:10911"}

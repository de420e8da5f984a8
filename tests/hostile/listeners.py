"""Brokers whose addresses are other loopback hosts: the server notifies them of their group's members."""

from __future__ import annotations

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Answer, Client

ON = {"notifyMinBrokerIdChanged": "true"}


def connect_from(port: int, host: str) -> Client:
    """A connection to the server whose own end is at a loopback host."""
    return Client(port, source=host)


def announce(client: Client, group: str, addr: str, broker_id: int = 0, **ext: object) -> Answer:
    """Register an address as a broker of a group of its own name."""
    body = register_body([topic_config(f"{group}-T"), topic_config(f"{group}-U")])
    fields = register_ext(f"C-{group}", group, addr, broker_id, body, **ext)
    answer = client.request(codes.REGISTER_BROKER, fields, body)
    assert answer.code == codes.SUCCESS
    return answer

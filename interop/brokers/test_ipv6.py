"""A broker and clients that have IPv6 addresses only."""

from __future__ import annotations

import pytest

from interop.harness import views
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from tests.behaviour.process.test_listening_addresses import IPV6, has_ipv6

TOPIC, MESSAGES = "Orders", 50

pytestmark = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1, so no broker is run over IPv6")


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

"""A broker and clients that have IPv6 addresses only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.clients import start_consumer, start_producer
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.servers import NameServer
from tests.behaviour.process.test_listening_addresses import IPV6, has_ipv6

TOPIC, MESSAGES = "Orders", 50

pytestmark = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1, so no broker is run over IPv6")


@pytest.fixture
def server(start_name_server: Callable[..., NameServer]) -> NameServer:
    started = start_name_server({"bindAddress": IPV6})
    started.host = IPV6
    return started


@pytest.fixture
def broker(server: NameServer, tmp_path: Path) -> Iterator[Broker]:
    started = Broker(tmp_path / "broker", "broker-a", f"[{IPV6}]:{server.port}", topics=[TOPIC], host=IPV6)
    try:
        views.have_registered(started, server)
        yield started
    finally:
        started.kill()


def test_messages_arrive_where_all_addresses_are_of_ipv6(server: NameServer, broker: Broker, tmp_path: Path) -> None:
    """B245: the broker announces ``::1:port``. One client has the name server's address with brackets, one without."""
    assert views.addresses(server, TOPIC) == {"broker-a": {0: f"{IPV6}:{broker.port}"}}
    producer = start_producer(tmp_path / "producer", f"[{IPV6}]:{server.port}", TOPIC, MESSAGES)
    consumer = start_consumer(tmp_path / "consumer", f"{IPV6}:{server.port}", TOPIC, "readers")
    try:
        assert_each_arrives_once(producer, consumer, MESSAGES)
    finally:
        producer.kill()
        consumer.kill()

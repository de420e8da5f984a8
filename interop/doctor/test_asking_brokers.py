"""What the doctor asks real brokers: their answers are understood, and nothing is changed."""

from __future__ import annotations

import asyncio

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from rocketns.doctor.facts import BrokerFacts
from tests.doctor.counting import examine, group, topic

TOPIC, GROUP, STRANGERS = "Orders", "readers", "strangers"
MESSAGES = 5
ALL_TOPICS, ALL_GROUPS, ONE_TOPIC = 21, 201, 351


def asked(server: NameServer) -> BrokerFacts:
    """What the doctor learns of the only broker."""
    report = asyncio.run(examine(f"127.0.0.1:{server.port}", topics=(TOPIC, "Missing"), groups=(GROUP, STRANGERS)))
    (found,) = report.facts.brokers
    return found


def tables(broker: Broker) -> list[bytes | None]:
    """All topics and groups, with the versions of their data."""
    with Client(broker.port) as client:
        return [client.request(code, {}).body for code in (ALL_TOPICS, ALL_GROUPS)]


@pytest.mark.parametrize("version", [CURRENT, OLD])
def test_answers_are_understood_and_nothing_is_changed(version: str, fleet: Fleet) -> None:
    server = fleet.name_server()
    broker = fleet.broker("broker-a", server, version=version, topics=[TOPIC])
    fleet.producer([server], TOPIC, MESSAGES, version=version).wait_for("DONE")
    consumer = fleet.consumer([server], TOPIC, GROUP, version=version)
    consumer.wait_for("GOT", MESSAGES)
    before = tables(broker)
    found = asked(server)
    assert tables(broker) == before
    assert found.setting("brokerName") == "broker-a"
    assert found.clock is not None
    assert found.clock.from_ms <= 0 <= found.clock.to_ms
    consumers = found.consumers[GROUP]
    assert consumers is not None
    assert (consumers.count, consumers.model) == (1, "CLUSTERING")
    assert TOPIC in consumers.subscribes
    assert found.consumers[STRANGERS] is None
    offsets = found.consumption[GROUP].first
    assert sum(stored for (name, _queue), (stored, _) in offsets.items() if name == TOPIC) == MESSAGES
    known = found.groups[GROUP]
    assert known is not None
    assert known["consumeEnable"] is True
    assert found.groups[STRANGERS] is None
    assert found.topics["Missing"] is None
    assert (TOPIC in found.topics) == (version == CURRENT), "only brokers from 5.0 on are asked for one topic"
    if version == CURRENT:  # the stand-ins of tests/doctor have the forms of this broker
        with Client(broker.port) as client:
            assert client.request(ONE_TOPIC, {"topic": TOPIC}).json() == topic(TOPIC)
            known = client.request(ALL_GROUPS, {}).json()["subscriptionGroupTable"]["TOOLS_CONSUMER"]
        assert known.items() >= group("TOOLS_CONSUMER").items()

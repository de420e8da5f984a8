"""How brokers come and register: with IPv6, of the newest release, with 2,000 topics."""

from __future__ import annotations

import json
import re
import zlib
from itertools import pairwise
from typing import Any

import pytest

from interop.harness import codes, views
from interop.harness.frames import ANSWER, frames
from interop.harness.ports import IPV6, has_ipv6
from interop.harness.relay import Relay
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.maven import NEWEST, classpath
from interop.harness.sending.clients import assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.topics import QUEUES
from interop.harness.wire import eventually
from tests.support.needs import not_run

# Against hangs.
WITHIN_S = 240.0
TOPIC = "Carried"
MESSAGES = 50


def build() -> None:
    classpath(NEWEST)


def test_messages_arrive_where_all_addresses_are_of_ipv6(fleet: Fleet) -> None:
    """B245: the broker announces ``::1:port``. One client has the name server's address with brackets, one without."""
    if not has_ipv6():
        not_run("this machine has no ::1")
    server = fleet.name_server({"bindAddress": IPV6})
    server.host = IPV6
    plain, bracketed = f"{IPV6}:{server.port}", f"[{IPV6}]:{server.port}"
    broker = fleet.unregistered("broker-a", bracketed, topics=[TOPIC], host=IPV6)
    views.have_registered(broker, server)
    assert views.addresses(server, TOPIC) == {"broker-a": {0: f"{IPV6}:{broker.port}"}}
    producer = fleet.producer(bracketed, TOPIC, MESSAGES)
    assert_each_arrives_once(producer, fleet.consumer(plain, TOPIC, "readers"), MESSAGES)


def test_broker_and_clients_of_5_5_1_use_a_name_server_that_stands_for_it(fleet: Fleet) -> None:
    """The client's jar is that of 5.5.0, for Maven Central has no other; its common and remoting are of 5.5.1."""
    server = fleet.name_server({"rocketns.compatibleVersion": NEWEST})
    fleet.broker("broker-a", server, version=NEWEST, topics=[TOPIC])
    producer = fleet.producer([server], TOPIC, MESSAGES, version=NEWEST)
    consumer = fleet.consumer([server], TOPIC, "readers", version=NEWEST)
    assert_each_arrives_once(producer, consumer, MESSAGES)
    with server.connect() as client:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
    assert (answer.code, answer.header["version"]) == (0, 515)


TOPICS = [f"Unchanged-{n}" for n in range(2000)]
COUNTED = re.compile(r"registrations: (\d+), (\d+) of them repeated the broker's last body")


def bodies(relay: Relay) -> list[bytes]:
    """The bodies of the registrations that passed."""
    passed = (one for sent in relay.sent for one in frames(bytes(sent)))
    return [o.body for o in passed if o.header["code"] == codes.REGISTER_BROKER and not o.header["flag"] & ANSWER]


def statement(body: bytes) -> Any:
    """The broker's data: the body without the time at which a 5.x broker wrote it."""
    if body[:1] == b"\x78":
        return zlib.decompress(body)
    fields = json.loads(body)
    fields["topicConfigSerializeWrapper"].get("mappingDataVersion", {}).pop("timestamp", None)
    return fields


def unchanged(relay: Relay) -> int:
    return sum(statement(one) == statement(other) for one, other in pairwise(bodies(relay)))


@pytest.mark.parametrize(("version", "compressed"), [(CURRENT, "false"), (OLD, "true")], ids=["plain", "compressed"])
def test_2000_topics_have_routes_and_are_not_decoded_again_while_unchanged(
    fleet: Fleet, version: str, compressed: str
) -> None:
    """B109, B123, B128, B147: the first and each changed registration is decoded, and no other. A plain body of 5.x
    never repeats its bytes: it has the current time in mappingDataVersion."""
    server = fleet.name_server()
    relay = fleet.relay(server.port)
    settings = {"compressedRegister": compressed}
    broker = fleet.unregistered("broker-a", [relay], version=version, properties=settings, topics=TOPICS)
    views.have_registered(broker, server)
    routes = views.routes(server)
    expected = {"brokerName": "broker-a", "perm": 6, "readQueueNums": QUEUES, "topicSysFlag": 0,
                "writeQueueNums": QUEUES}  # fmt: skip
    assert [topic for topic in TOPICS if routes[topic]["queueDatas"] != [expected]] == []
    eventually(lambda: unchanged(relay) >= 2, WITHIN_S, every_s=0.5)
    broker.kill()
    assert server.stop() == 0
    counted = COUNTED.search(server.process.text())
    assert counted, server.process.text()[-4000:]
    came = bodies(relay)
    assert [int(n) for n in counted.groups()] == [len(came), unchanged(relay)]
    assert all((body[:1] == b"\x78") == (compressed == "true") for body in came)
    assert len(set(came)) == len(came) - (unchanged(relay) if version == OLD else 0)

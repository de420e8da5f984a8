"""Unchanged registrations of real brokers: rocketns counts them as repeated and does not decode them again."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import REGISTRATION_PERIOD_S
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import Fleet
from interop.harness.views import have_registered
from interop.harness.wire import eventually

TOPICS = [f"Unchanged-{n}" for n in range(50)]
UNCHANGED_MIN = 2
WITHIN_S = 6 * REGISTRATION_PERIOD_S
COUNTED = re.compile(r"registrations: (\d+), (\d+) of them repeated the broker's last body")


@pytest.fixture(autouse=True)
def _rocketns_alone(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--against") == "java":
        pytest.skip("the Java server does not count registrations")


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

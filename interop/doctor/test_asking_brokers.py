"""What the doctor asks real brokers: their answers are understood, nothing is changed, and signatures are accepted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from rocketns.access.signing.key_signer import KeySigner
from rocketns.access.signing.secret import Secret
from rocketns.client.signer import Signer
from rocketns.doctor.facts.brokers import BrokerFacts
from tests.doctor.counting import examine, group, topic

TOPIC, GROUP, STRANGERS = "Orders", "readers", "strangers"
MESSAGES = 5
ALL_TOPICS, ALL_GROUPS, ONE_TOPIC = 21, 201, 351
KEY, SECRET = "operators", "secret-of-operators"
ACL_OF_4 = f"""
accounts:
- accessKey: {KEY}
  secretKey: {SECRET}
  admin: true
"""
_PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
AUTHENTICATION_OF_5 = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_PROVIDERS}.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_PROVIDERS}.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": KEY, "password": SECRET}),
    "innerClientAuthenticationCredentials": json.dumps({"accessKey": KEY, "secretKey": SECRET}),
}


def asked(server: NameServer, signer: Signer | None = None) -> BrokerFacts:
    """What the doctor learns of the only broker."""
    report = asyncio.run(
        examine(f"127.0.0.1:{server.port}", topics=(TOPIC, "Missing"), groups=(GROUP, STRANGERS), signer=signer)
    )
    (found,) = report.facts.brokers
    return found


def with_clock(found: BrokerFacts) -> BrokerFacts | None:
    """A broker has no figures in its first second, and answers 28 with an error (StoreStatsService.getPutTps)."""
    return None if found.clock is None else found


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
    assert sum(one.at_broker for one in found.consumption[GROUP].first if one.topic == TOPIC) == MESSAGES
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


def guarded(version: str, fleet: Fleet, server: NameServer, folder: Path) -> Broker:
    """A broker that answers signed requests only."""
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "plain_acl.yml").write_text(ACL_OF_4, "utf-8")
    settings = {"aclEnable": "true"} if version == OLD else AUTHENTICATION_OF_5
    return fleet.kills(Broker(folder, "broker-a", name_server_list(server), version=version, properties=settings,
                              topics=[TOPIC]))  # fmt: skip


@pytest.mark.parametrize("version", [CURRENT, OLD])
def test_brokers_with_access_control_answer_signed_requests(version: str, fleet: Fleet, tmp_path: Path) -> None:
    server = fleet.name_server()
    broker = guarded(version, fleet, server, tmp_path / "guarded")
    eventually(lambda: "broker-a" in views.brokers(server), broker.registered_within_s)
    signed = eventually(lambda: with_clock(asked(server, KeySigner(KEY, Secret(SECRET)))))
    unsigned = asked(server)
    assert unsigned.configuration is None
    assert unsigned.codes
    assert signed.setting("brokerName") == "broker-a"
    assert not signed.codes.keys() - {351, 352}
    assert signed.consumers[GROUP] is None
    assert signed.groups[GROUP] is None
    assert signed.topics["Missing"] is None

"""What brokers and name servers are asked: only what changes nothing, and no more often than stated."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from rocketns.doctor.asking.brokers import groups
from rocketns.doctor.asking.brokers.requests import BROKERS_MAX
from tests.doctor.counting import V4_9_7, FakeBroker, FakeNameServer, connected, group, listening, topic
from tests.doctor.examining import examine

# Codes that read, in RocketMQ's broker and name server. Everything else may change something, or costs.
DIGESTS = 0x524E  # tells rocketns from Java, which does not know it
READS_OF_NAME_SERVERS = {105, 106, 206, 319, DIGESTS}
READS_OF_BROKERS = {21, 26, 28, 201, 203, 208, 351}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets are looked at again without waiting."""

    async def no_sleep(_seconds: float) -> None:
        pass

    monkeypatch.setattr(groups, "sleep", no_sleep)


def full_broker(name: str = "broker-a", **more: object) -> FakeBroker:
    """A broker with all that may be asked for."""
    return FakeBroker(
        name=name, topics={"Orders": topic("Orders"), "%RETRY%readers": topic("%RETRY%readers", queues=1)},
        groups={"readers": group("readers")}, consumers={"readers": connected("Orders")},
        offsets={"readers": [("Orders", 10, 4)]}, **more,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.usefixtures("at_once")
def test_whole_run_stays_within_its_stated_numbers() -> None:
    async def scene() -> None:
        broker, name_server = full_broker(), FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            report = await examine(name_server, topics=("Orders", "Missing"), groups=("readers", "strangers"),
                                   client_version=513)  # fmt: skip
        assert name_server.received == {106: 1, 206: 1, 319: 1, 105: 6, DIGESTS: 1}
        assert broker.received == {28: 1, 26: 1, 351: 4, 203: 2, 208: 6, 201: 1}
        assert broker.connects == 1
        (of_name_servers, of_brokers) = report.facts.requests
        assert sum(of_name_servers.sent[name_server.addr].values()) == sum(name_server.received.values())
        assert sum(of_brokers.sent[broker.addr].values()) == sum(broker.received.values()) + 1  # the connection
        for requests in report.facts.requests:
            for sent in requests.sent.values():
                assert all(count <= requests.most[kind] for kind, count in sent.items())

    asyncio.run(scene())


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("version", [513, V4_9_7])
@pytest.mark.parametrize("settings", [{}, {"autoCreateSubscriptionGroup": "false"}], ids=["creates", "creates none"])
def test_nothing_is_asked_that_changes_something(version: int, settings: dict[str, str]) -> None:
    async def scene() -> None:
        brokers = [full_broker(f"broker-{n}", version=version, settings=settings) for n in range(3)]
        name_server = FakeNameServer()
        async with listening(*brokers, name_server):
            name_server.shows(*brokers[:2])
            before = [dict(one.groups) for one in brokers]
            await examine(name_server, topics=("Orders", "Missing"), groups=("readers", "strangers"),
                          brokers=(brokers[2].addr,), client_version=513)  # fmt: skip
        assert set(name_server.received) <= READS_OF_NAME_SERVERS
        asked = set(sum((one.received for one in brokers), Counter()))
        assert asked <= READS_OF_BROKERS | ({352} if settings else set())
        assert [one.groups for one in brokers] == before

    asyncio.run(scene())


def test_group_is_asked_for_by_name_only_where_that_cannot_create_it() -> None:
    async def scene() -> None:
        creates, does_not = FakeBroker(), FakeBroker(name="b", settings={"autoCreateSubscriptionGroup": "false"})
        name_server = FakeNameServer()
        async with listening(creates, does_not, name_server):
            name_server.shows(creates, does_not)
            await examine(name_server, groups=("strangers",))
        assert (creates.received[352], creates.received[201]) == (0, 1)
        assert (does_not.received[352], does_not.received[201]) == (1, 0)

    asyncio.run(scene())


def test_system_group_is_never_asked_for_by_name() -> None:
    """A broker creates such groups whatever its configuration says (enableCreateSysGroup)."""

    async def scene() -> None:
        broker, name_server = FakeBroker(settings={"autoCreateSubscriptionGroup": "false"}), FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            await examine(name_server, groups=("CID_RMQ_SYS_X",))
        assert broker.received[352] == 0

    asyncio.run(scene())


def test_old_broker_is_asked_for_its_table_of_topics_only_if_the_topic_is_missing() -> None:
    async def scene() -> None:
        broker, name_server = full_broker(version=V4_9_7), FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            await examine(name_server, topics=("Orders",))
            assert broker.received[21] == 0
            await examine(name_server, topics=("Missing",))
            assert broker.received[21] == 1

    asyncio.run(scene())


def test_only_brokers_of_the_topic_are_asked() -> None:
    async def scene() -> None:
        has, has_not, name_server = full_broker("has"), FakeBroker(name="has-not"), FakeNameServer()
        async with listening(has, has_not, name_server):
            name_server.shows(has, has_not)
            await examine(name_server, topics=("Orders",))
        assert has.received
        assert not has_not.received

    asyncio.run(scene())


def test_of_a_large_fleet_some_brokers_of_each_cluster_are_asked() -> None:
    async def scene() -> None:
        broker, name_server = FakeBroker(), FakeNameServer()
        async with listening(broker, name_server):
            port = broker.addr.rpartition(":")[2]
            for number in range(100):
                cluster = "small" if number == 50 else "large"
                name_server.groups[f"broker-{number}"] = (cluster, {0: f"127.0.1.{number + 1}:{port}"})
            report = await examine(name_server)
        assert len(report.facts.addresses) == BROKERS_MAX
        assert report.facts.left_out == 100 - BROKERS_MAX
        assert f"127.0.1.51:{port}" in report.facts.addresses

    asyncio.run(scene())


def test_secrets_of_a_configuration_are_not_kept() -> None:
    async def scene() -> None:
        broker, name_server = FakeBroker(), FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            report = await examine(name_server)
        (found,) = report.facts.brokers
        assert found.setting("brokerName") == "broker-a"
        assert "secretOfSomebody" not in (found.configuration or {})

    asyncio.run(scene())

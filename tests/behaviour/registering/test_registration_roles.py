"""Which members of a group register topics: masters, slaves of old and new brokers, the acting master."""

from __future__ import annotations

import pytest

from interop.harness.payloads import data_version
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered, unregister
from tests.behaviour.views import addrs, group, perms, route


def test_negative_id_is_below_the_master(client: Client, names: Names) -> None:
    """B145: accepted. It is the group's lowest id, so its topics are registered."""
    registered(client, names, ["T", "U"])
    registered(client, names, ["V", "W"], host=2, broker_id=-1)
    assert addrs(client, names.broker) == {"0": names.addr(1), "-1": names.addr(2)}
    assert perms(client, names.topic("V")) == {names.broker: 6}


@pytest.mark.parametrize("with_master", [True, False])
def test_slave_of_an_old_version_never_registers_topics(client: Client, names: Names, with_master: bool) -> None:
    """B149: without enableActingMaster its topics are not registered, not even as the only member."""
    if with_master:
        registered(client, names, ["T", "U"])
    registered(client, names, ["V", "W"], host=2, broker_id=1, enableActingMaster=None)
    assert (addrs(client, names.broker) or {})["1"] == names.addr(2)
    assert route(client, names.topic("V")) is None


@pytest.mark.parametrize(("sent", "shown"), [(6, 4), (7, 5), (4, 4), (2, 0)])
def test_acting_master_registers_topics_without_write_bit(client: Client, names: Names, sent: int, shown: int) -> None:
    """B151: min slave, flag true, no master: topics without write bit."""
    registered(client, names, host=2, broker_id=1, perm=sent, enableActingMaster="TRUE")
    assert perms(client, names.topic("T")) == {names.broker: shown}
    assert group(client, names.broker)["enableActingMaster"] is True


@pytest.mark.parametrize("smallest", [0, 1])
@pytest.mark.parametrize("acting", ["true", "false"])
def test_other_members_do_not_touch_topics(client: Client, names: Names, smallest: int, acting: str) -> None:
    """B152: non-min slave, below a master or below a smaller slave."""
    registered(client, names, ["T", "U"], broker_id=smallest, perm=4, enableActingMaster=acting)
    new = data_version(5)
    registered(client, names, ["T", "V"], host=2, broker_id=2, version=new, enableActingMaster=acting)
    assert perms(client, names.topic("T")) == {names.broker: 4}
    assert route(client, names.topic("V")) is None


@pytest.mark.parametrize("counter", [1, 2], ids=["same DataVersion", "new DataVersion"])
def test_master_that_returns_restores_all_topics(client: Client, names: Names, counter: int) -> None:
    """B153: master returns: perm restored for all topics, same DataVersion or not."""
    registered(client, names, enableActingMaster="true")
    registered(client, names, host=2, broker_id=1, enableActingMaster="true")
    assert unregister(client, names).code == 0
    eventually(lambda: perms(client, names.topic("U")) == {names.broker: 4})
    registered(client, names, version=data_version(counter), enableActingMaster="true")
    for topic in ("T", "U"):
        assert perms(client, names.topic(topic)) == {names.broker: 6}


def test_master_that_returns_with_one_topic_is_refused(client: Client, names: Names) -> None:
    """B153, B110: while id 0 is absent, a single topic is an increment from an unknown broker."""
    registered(client, names, host=2, broker_id=1, enableActingMaster="true")
    assert register(client, names, ["T"], enableActingMaster="true").code == 1


def test_slave_that_becomes_master_keeps_one_id(client: Client, names: Names) -> None:
    """B154: slave re-registers same address as id 0: old id removed, id 0 set, topics rewritten."""
    registered(client, names, host=2, broker_id=1, enableActingMaster="true")
    assert perms(client, names.topic("T")) == {names.broker: 4}
    registered(client, names, host=2, broker_id=0, enableActingMaster="true")
    assert addrs(client, names.broker) == {"0": names.addr(2)}
    assert perms(client, names.topic("T")) == {names.broker: 6}


def test_zone_of_the_last_registration_counts_for_the_group(client: Client, names: Names) -> None:
    """B157: zone absent on re-registration: zoneName cleared for the whole group."""
    registered(client, names, __ZONE_NAME="z1")
    assert group(client, names.broker)["zoneName"] == "z1"
    registered(client, names, host=2, broker_id=1, __ZONE_NAME="z2")
    assert group(client, names.broker)["zoneName"] == "z2"
    registered(client, names, host=2, broker_id=1)
    assert "zoneName" not in group(client, names.broker)


@pytest.mark.parametrize("last", [None, "false"], ids=["old version", "switched off"])
def test_acting_switch_of_the_last_registration_counts_for_the_group(
    client: Client, names: Names, last: str | None
) -> None:
    """B157: enableActingMaster, like the zone: the last registration in the group decides."""
    registered(client, names, enableActingMaster="true")
    assert group(client, names.broker)["enableActingMaster"] is True
    registered(client, names, host=2, broker_id=1, enableActingMaster=last)
    assert group(client, names.broker)["enableActingMaster"] is False

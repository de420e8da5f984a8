"""Topics of a registration: which are written, with which permission, and which changes are in the events."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import TopicConfig, TopicQueueMappingInfo, queue_data
from rocketns.routeinfo.events import Cause, TopicChange, TopicsDeleted, TopicsPut
from tests.routeinfo.manager import ADDR, BROKER, MASTER, NORMAL, READ_ONLY, SLAVE, Manager, table_of

TWO = table_of("T1", "T2")
NARROW = queue_data(1, 1, 6, 0)


def changes(manager: Manager) -> list[tuple[str, str, object, object]]:
    """Broker, topic, old and new of every change so far; the list is emptied."""
    puts = [event for event in manager.events if isinstance(event, TopicsPut)]
    manager.events.clear()
    return [(put.broker_name, change.topic, change.old, change.new) for put in puts for change in put.changes]


def test_12_topics_are_registered_under_their_own_names(manager: Manager) -> None:
    """B137."""
    result = manager.register(MASTER, {"key": TopicConfig("T1", NARROW), "T2": TopicConfig("T2", NORMAL)})
    assert manager.tables.topic_queue_table == {"T1": {BROKER: NARROW}, "T2": {BROKER: NORMAL}}
    put = [TopicChange("T1", None, NARROW), TopicChange("T2", None, NORMAL)]
    assert result.events[0] == TopicsPut(BROKER, put, Cause.REGISTER)


def test_11_with_the_same_version_only_what_is_missing_is_written(manager: Manager) -> None:
    """B146, B147."""
    manager.register(MASTER, TWO)
    manager.delete_topic("T1")
    manager.wipe_write_perm(BROKER)
    changes(manager)
    manager.register(MASTER, table_of(T1=NARROW, T2=NARROW))
    assert manager.tables.topic_queue_table == {"T1": {BROKER: NARROW}, "T2": {BROKER: READ_ONLY}}
    assert changes(manager) == [(BROKER, "T1", None, NARROW)]


def test_11_a_topic_that_only_other_brokers_have_is_missing(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    other = MASTER.but(name="other", addr="127.0.0.1:1")
    manager.register(other, {})
    manager.register(other, TWO)
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NORMAL, "other": NORMAL}


def test_11_with_another_version_everything_is_written(manager: Manager) -> None:
    """B148: topics that the registration does not have stay."""
    manager.register(MASTER, table_of("T1", "T2", "T3"))
    manager.wipe_write_perm(BROKER)
    changes(manager)
    manager.register(MASTER.next_version(), table_of("T2", T1=NARROW))
    assert changes(manager) == [(BROKER, "T2", READ_ONLY, NORMAL), (BROKER, "T1", READ_ONLY, NARROW)]
    assert manager.tables.topic_queue_table["T3"] == {BROKER: READ_ONLY}


def test_11_what_is_written_unchanged_is_no_change(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    changes(manager)
    manager.register(MASTER.next_version(), TWO)
    assert changes(manager) == []


def test_11_an_id_that_had_no_address_rewrites_all(manager: Manager) -> None:
    """B153: a master that returns, with the version it had."""
    manager.register(SLAVE, TWO)
    manager.register(MASTER, TWO)
    manager.unregister(MASTER)
    assert manager.tables.topic_queue_table["T1"] == {BROKER: READ_ONLY}
    manager.register(MASTER, TWO)
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NORMAL}


def test_11_a_heartbeat_without_a_version_writes_all_at_the_next_one(manager: Manager) -> None:
    """B140: a missing version equals no other, not even another missing one."""
    manager.register(MASTER.but(version=None), TWO)
    manager.register(MASTER.but(version=None), table_of(T1=NARROW, T2=NARROW))
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NARROW}


@pytest.mark.parametrize(("perm", "written"), [(7, 5), (6, 4), (4, 4), (3, 1), (2, 0)])
def test_12_an_acting_master_registers_without_the_write_bit(manager: Manager, perm: int, written: int) -> None:
    """B151: the registration's own data is not changed."""
    table = table_of(T1=queue_data(8, 8, perm, 3), T2=queue_data(8, 8, perm, 3))
    manager.register(SLAVE, table)
    assert manager.tables.topic_queue_table["T1"][BROKER] == queue_data(8, 8, written, 3)
    assert table["T1"].queues.perm == perm


def test_10a_topics_that_are_missing_are_deleted_where_configured(manager: Manager) -> None:
    """B159: by the keys of the table, even with the same version, and before others are written."""
    manager.config.delete_topic_with_broker_registration = True
    other = MASTER.but(name="other", addr="127.0.0.1:1")
    for broker in (MASTER, other):
        manager.register(broker, table_of("T1", "T2", "T3"))
    result = manager.register(MASTER, {"T1": TopicConfig("T4", NORMAL), "T2": TopicConfig("T2", NORMAL)})
    assert manager.tables.topic_queue_table == {
        "T1": {BROKER: NORMAL, "other": NORMAL},
        "T2": {BROKER: NORMAL, "other": NORMAL},
        "T3": {"other": NORMAL},
        "T4": {BROKER: NORMAL},
    }
    assert result.events[0] == TopicsDeleted(BROKER, ["T3"], Cause.REGISTER)


def test_10a_a_slave_that_registers_topics_deletes_too_and_another_does_not(manager: Manager) -> None:
    manager.config.delete_topic_with_broker_registration = True
    manager.register(MASTER, TWO)
    manager.register(SLAVE, {})
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}
    manager.unregister(MASTER)
    manager.register(SLAVE, {})
    assert manager.tables.topic_queue_table == {}


MAPPING = TopicQueueMappingInfo("T1", BROKER, {0: 0}, epoch=1)


def test_10a_static_topics_keep_everything(manager: Manager) -> None:
    """B160."""
    manager.config.delete_topic_with_broker_registration = True
    manager.register(MASTER, TWO)
    manager.register(MASTER, {}, {"T1": MAPPING})
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}


def test_13_mappings_are_stored_by_key_and_by_the_name_they_carry(manager: Manager) -> None:
    """B162: where the broker of that name has the topic."""
    named = TopicQueueMappingInfo("x", "other", {0: 0})
    manager.register(MASTER, TWO, {"T1": MAPPING, "T2": named})
    assert manager.tables.topic_queue_mapping_info_table == {"T1": {BROKER: MAPPING}}
    manager.register(MASTER.but(name="other", addr="10.0.0.9:10911"), TWO)
    manager.register(MASTER.next_version(), TWO, {"T1": named})
    assert manager.tables.topic_queue_mapping_info_table == {"T1": {BROKER: MAPPING, "other": named}}


def test_13_mappings_of_the_same_version_are_ignored(manager: Manager) -> None:
    """B163: but not where the id had no address."""
    manager.register(MASTER, TWO)
    manager.register(MASTER, TWO, {"T1": MAPPING})
    assert manager.tables.topic_queue_mapping_info_table == {}
    manager.register(MASTER.but(id=7), TWO)
    manager.register(MASTER, TWO, {"T1": MAPPING})
    assert manager.tables.topic_queue_mapping_info_table == {"T1": {BROKER: MAPPING}}


def test_13_a_mapping_ends_with_its_broker(manager: Manager) -> None:
    """B164: in Java nothing removes it, and another broker's route shows it."""
    manager.register(MASTER, TWO, {"T1": MAPPING})
    manager.unregister(MASTER)
    manager.register(MASTER.but(name="other"), TWO)
    assert manager.route("T1").topic_queue_mapping_by_broker is None
    assert manager.tables.topic_queue_mapping_info_table == {}


def test_13_a_slave_that_registers_no_topics_registers_no_mappings(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO, {"T1": MAPPING})
    assert manager.tables.topic_queue_mapping_info_table == {}
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR, 1: SLAVE.addr}

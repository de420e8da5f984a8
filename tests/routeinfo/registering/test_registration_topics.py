"""Topics of a registration: which are written, with which permission, and which changes are in the events."""

from __future__ import annotations

from rocketns.protocol.body.route import TopicConfig, TopicQueueMappingInfo, queue_data
from rocketns.routeinfo.events import Cause, TopicChange, TopicsDeleted, TopicsPut
from tests.routeinfo.manager import BROKER, MASTER, NORMAL, READ_ONLY, SLAVE, Manager, table_of

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


def test_11_what_is_written_unchanged_is_no_change(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    changes(manager)
    manager.register(MASTER.next_version(), TWO)
    assert changes(manager) == []


def test_11_a_heartbeat_without_a_version_writes_all_at_the_next_one(manager: Manager) -> None:
    """B140: a missing version equals no other, not even another missing one."""
    manager.register(MASTER.but(version=None), TWO)
    manager.register(MASTER.but(version=None), table_of(T1=NARROW, T2=NARROW))
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NARROW}


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


def test_13_a_mapping_ends_with_its_broker(manager: Manager) -> None:
    """B164: in Java nothing removes it, and another broker's route shows it."""
    manager.register(MASTER, TWO, {"T1": MAPPING})
    manager.unregister(MASTER)
    manager.register(MASTER.but(name="other"), TWO)
    assert manager.route("T1").topic_queue_mapping_by_broker is None
    assert manager.tables.topic_queue_mapping_info_table == {}

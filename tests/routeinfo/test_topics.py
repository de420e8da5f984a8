"""Topics and permissions that tools and brokers change one by one."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo.events import Cause, TopicChange, TopicsDeleted, TopicsPut
from tests.routeinfo.manager import BROKER, CLUSTER, MASTER, NORMAL, Manager, table_of

OTHER = MASTER.but(name="other", addr="127.0.0.1:1", cluster="C2")
NARROW = queue_data(1, 1, 6, 0)


@pytest.fixture
def manager() -> Manager:
    manager = Manager()
    manager.register(MASTER, table_of("T1", "T2"))
    manager.register(OTHER, table_of("T2", "T3"))
    return manager


def test_a_topic_of_known_brokers_is_registered(manager: Manager) -> None:
    """B225."""
    events = manager.register_topic("T9", (BROKER, NORMAL), ("other", NARROW))
    assert manager.tables.topic_queue_table["T9"] == {BROKER: NORMAL, "other": NARROW}
    assert events == [
        TopicsPut(BROKER, [TopicChange("T9", None, NORMAL)], Cause.TOPIC),
        TopicsPut("other", [TopicChange("T9", None, NARROW)], Cause.TOPIC),
    ]


@pytest.mark.parametrize("unknown", ["nobody", None])
def test_a_new_topic_with_an_unknown_broker_is_not_registered(manager: Manager, unknown: str | None) -> None:
    """B226."""
    assert manager.register_topic("T9", (BROKER, NORMAL), (unknown, NORMAL)) == []
    assert "T9" not in manager.tables.topic_queue_table


@pytest.mark.parametrize("unknown", ["nobody", None])
def test_a_known_topic_takes_what_comes_before_the_unknown_broker(manager: Manager, unknown: str | None) -> None:
    """B227."""
    events = manager.register_topic("T1", ("other", NARROW), (unknown, NORMAL), (BROKER, NARROW))
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NORMAL, "other": NARROW}
    assert events == [TopicsPut("other", [TopicChange("T1", None, NARROW)], Cause.TOPIC)]


def test_an_entry_is_replaced_and_others_stay(manager: Manager) -> None:
    events = manager.register_topic("T2", (BROKER, NARROW), ("other", NORMAL))
    assert manager.tables.topic_queue_table["T2"] == {BROKER: NARROW, "other": NORMAL}
    assert events == [TopicsPut(BROKER, [TopicChange("T2", NORMAL, NARROW)], Cause.TOPIC)]


def test_a_topic_is_deleted_everywhere(manager: Manager) -> None:
    """B222."""
    for cluster in ("", None):
        events = manager.delete_topic("T2" if cluster == "" else "T1", cluster)
        assert all(isinstance(event, TopicsDeleted) for event in events)
    assert manager.tables.topic_queue_table == {"T3": {"other": NORMAL}}
    deleted = [event for event in manager.events if isinstance(event, TopicsDeleted)]
    assert deleted == [
        TopicsDeleted(*one, Cause.ADMIN) for one in ((BROKER, ["T2"]), ("other", ["T2"]), (BROKER, ["T1"]))
    ]


def test_a_topic_is_deleted_from_one_cluster(manager: Manager) -> None:
    """B223: it goes with its last broker."""
    assert manager.delete_topic("T2", CLUSTER) == [TopicsDeleted(BROKER, ["T2"], Cause.ADMIN)]
    assert manager.tables.topic_queue_table["T2"] == {"other": NORMAL}
    manager.delete_topic("T2", "C2")
    assert "T2" not in manager.tables.topic_queue_table


@pytest.mark.parametrize(
    ("topic", "cluster"), [("T1", "C2"), ("T1", "C3"), ("T9", None), ("T9", CLUSTER), (None, None)]
)
def test_nothing_to_delete_is_nothing_done(manager: Manager, topic: str | None, cluster: str | None) -> None:
    """B224."""
    assert manager.delete_topic(topic, cluster) == []
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2", "T3"}


@pytest.mark.parametrize("perm", [0, 1, 4, 5, 6, 7])
def test_adding_makes_it_read_and_write_exactly(manager: Manager, perm: int) -> None:
    """B220."""
    manager.register_topic("T1", (BROKER, queue_data(8, 8, perm, 0)))
    manager.events.clear()
    assert manager.add_write_perm(BROKER) == 2
    assert manager.tables.topic_queue_table["T1"][BROKER].perm == 6
    changes = [TopicChange("T1", queue_data(8, 8, perm, 0), NORMAL)]
    assert manager.events == ([] if perm == 6 else [TopicsPut(BROKER, changes, Cause.PERM)])

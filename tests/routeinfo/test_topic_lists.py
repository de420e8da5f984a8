"""What lists of topics look through: the topics that they may have, and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketns.errors import ListTooLong
from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo import view
from rocketns.routeinfo.tables import RouteTables
from tests.routeinfo.invariants import check_tables
from tests.routeinfo.manager import MASTER, Manager, table_of

OTHER = MASTER.but(cluster="other", name="other-broker", addr="127.0.0.2:10911")
UNIT, SUB, BOTH, OTHERS = (queue_data(8, 8, 6, flag) for flag in (1, 2, 3, 4))
MOST = 100
UNIT_LISTS = [view.unit_topics, view.has_unit_sub_topics, view.has_unit_sub_ununit_topics]
UnitList = Callable[[RouteTables, int], list[str]]


class Unwalked(dict[str, dict]):
    """A table of topics of which single ones may be looked up."""

    def walk(self, *_: object) -> None:
        raise AssertionError("a walk through all topics")

    __iter__ = items = keys = values = walk  # type: ignore[assignment]


@pytest.fixture
def manager() -> Manager:
    """Two clusters with a broker each. The other one has many topics."""
    manager = Manager()
    manager.register(MASTER, table_of("T1", "T2", U1=UNIT, U2=BOTH, U3=SUB, V=OTHERS))
    manager.register(OTHER, table_of("T2", *(f"X{number}" for number in range(50))))
    return manager


def unwalked(manager: Manager) -> RouteTables:
    manager.tables.topic_queue_table = Unwalked(manager.tables.topic_queue_table)
    return manager.tables


def test_topics_of_a_cluster_without_a_walk_through_those_of_others(manager: Manager) -> None:
    assert set(view.topics_by_cluster(unwalked(manager), MASTER.cluster, MOST)) == {"T1", "T2", "U1", "U2", "U3", "V"}


def test_a_topic_that_left_is_not_in_its_cluster(manager: Manager) -> None:
    manager.delete_topic("T1")
    manager.delete_topic("T2", MASTER.cluster)
    assert set(view.topics_by_cluster(unwalked(manager), MASTER.cluster, MOST)) == {"U1", "U2", "U3", "V"}


def test_brokers_with_the_same_topics_are_walked_as_one() -> None:
    """The table has fewer topics than the brokers together."""
    manager = Manager()
    for number in range(3):
        broker = MASTER.but(name=f"b{number}", addr=f"127.0.0.1:{number + 1}")
        manager.register(broker, table_of(*(f"T{topic}" for topic in range(10))))
    manager.register(OTHER, table_of("X1", "X2"))
    assert set(view.topics_by_cluster(manager.tables, MASTER.cluster, MOST)) == {f"T{topic}" for topic in range(10)}
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 4)) == 5


def test_the_walk_through_a_cluster_ends_after_the_bound() -> None:
    manager = Manager()
    for number in range(5):
        broker = MASTER.but(name=f"b{number}", addr=f"127.0.0.1:{number + 1}")
        manager.register(broker, table_of(f"T{number}", f"U{number}"))
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 3)) == 4
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 10)) == 10


@pytest.mark.parametrize(("read", "listed"), list(zip(UNIT_LISTS, (["U1", "U2"], ["U2", "U3"], ["U3"]), strict=True)))
def test_unit_lists_walk_through_topics_with_a_flag(manager: Manager, read: UnitList, listed: list[str]) -> None:
    assert sorted(read(unwalked(manager), MOST)) == listed


def test_the_first_broker_by_name_decides_whether_a_topic_has_a_flag(manager: Manager) -> None:
    """B233."""
    for name, queues in (("a", UNIT), ("z", SUB)):
        manager.tables.put_topics(name, {"T1": queues})
    assert "T1" in view.unit_topics(manager.tables, MOST)
    assert "T1" not in view.has_unit_sub_topics(manager.tables, MOST)


@pytest.mark.parametrize("read", UNIT_LISTS)
def test_unit_lists_read_no_more_queues_than_the_bound(manager: Manager, read: UnitList) -> None:
    """Also those whose topic is not in the list, and those without the flag: three topics, one of two brokers."""
    manager.register(OTHER.next_version(), table_of("U1"))
    assert read(manager.tables, 4) == read(manager.tables, MOST)
    with pytest.raises(ListTooLong, match="more queues than UNIT_QUEUES_READ_MAX=3"):
        read(manager.tables, 3)


def test_a_flag_ends_with_the_topic_the_broker_or_other_queues(manager: Manager) -> None:
    manager.register(MASTER.next_version(), table_of("U1", T1=UNIT))
    assert sorted(view.unit_topics(manager.tables, MOST)) == ["T1", "U2"]
    manager.delete_topic("U2")
    manager.wipe_write_perm(MASTER.name)
    check_tables(manager.tables, manager.now_ms)
    assert view.unit_topics(manager.tables, MOST) == ["T1"]
    manager.unregister(MASTER)
    assert view.unit_topics(manager.tables, 0) == []

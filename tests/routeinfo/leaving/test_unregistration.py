"""unRegisterBroker: a batch of requests, then one clean-up of the topics."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo.events import BrokerDown, Cause, TopicChange, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ_ONLY,
    SLAVE,
    SLAVE_ADDR,
    Broker,
    Manager,
    table_of,
)

TWO = table_of("T1", "T2")
OTHER = MASTER.but(name="other", addr="127.0.0.1:1")


def leaving(**changes: object) -> UnregisterRequest:
    fields = {"cluster": CLUSTER, "addr": ADDR, "broker_name": BROKER, "broker_id": 0, "cause": Cause.UNREGISTER}
    return UnregisterRequest(**(fields | changes))  # type: ignore[arg-type]


def test_the_last_broker_takes_everything_with_it(manager: Manager) -> None:
    """B179."""
    manager.register(MASTER, TWO, filters=["f:1"])
    manager.now_ms += 7
    events = manager.unregister(MASTER)
    assert manager.tables == RouteTables()
    assert events == [
        BrokerDown(CLUSTER, BROKER, ADDR, 0, True, 7, Cause.UNREGISTER),
        TopicsDeleted(BROKER, ["T1", "T2"], Cause.UNREGISTER),
    ]


def test_the_address_counts_and_the_id_need_not_match(manager: Manager) -> None:
    """B180."""
    manager.register(MASTER, TWO)
    manager.unregister(leaving(broker_id=99))
    assert manager.tables == RouteTables()


def test_an_address_that_leaves_one_of_its_groups_stays_live(manager: Manager) -> None:
    """The other group ends with its live entry."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(name="other"), TWO)
    manager.unregister(MASTER)
    assert manager.tables.broker_addr_table.keys() == {"other"}
    assert manager.live(MASTER) is not None
    manager.unregister(MASTER.but(name="other"))
    assert manager.tables == RouteTables()


@pytest.mark.parametrize("changes", [{"broker_name": "nobody"}, {"broker_name": None}], ids=str)
def test_without_a_group_nothing_goes(manager: Manager, changes: dict[str, object]) -> None:
    manager.register(MASTER, TWO, filters=["f:1"])
    manager.unregister(leaving(**changes))
    assert manager.live(MASTER) is not None
    assert manager.tables.filter_server_table
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR}


def test_an_unknown_broker_changes_nothing(manager: Manager) -> None:
    """B183."""
    manager.register(MASTER, TWO)
    events = manager.unregister(leaving(addr="127.0.0.1:1", broker_name="nobody"))
    assert events == [BrokerDown(CLUSTER, "nobody", "127.0.0.1:1", 0, False, None, Cause.UNREGISTER)]
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}
    assert manager.live(MASTER) is not None


@pytest.mark.parametrize("changes", [{"cluster": None}, {"addr": None}], ids=str)
def test_a_request_without_identity_does_not_spoil_its_batch(manager: Manager, changes: dict[str, object]) -> None:
    """In Java it drops the rest of the batch and the clean-up of topics."""
    manager.register(MASTER, TWO)
    manager.unregister(leaving(**changes), leaving(broker_name=None, addr="x"), MASTER)
    assert manager.tables == RouteTables()


def test_an_acting_group_that_lost_its_master_is_read_only(manager: Manager) -> None:
    """B185: on all its topics, and nobody else's."""
    manager.register(SLAVE, {})
    manager.register(MASTER, table_of("T1", T2=queue_data(8, 8, 4, 0), T3=queue_data(8, 8, 7, 0)))
    manager.register(OTHER, TWO)
    events = manager.unregister(MASTER)
    perms = {topic: queues[BROKER].perm for topic, queues in manager.tables.topic_queue_table.items()}
    assert perms == {"T1": 4, "T2": 4, "T3": 5}
    assert manager.tables.topic_queue_table["T1"]["other"] == NORMAL
    changes = [TopicChange("T1", NORMAL, READ_ONLY), TopicChange("T3", queue_data(8, 8, 7, 0), queue_data(8, 8, 5, 0))]
    assert events[1] == TopicsPut(BROKER, changes, Cause.UNREGISTER)


@pytest.mark.parametrize(
    ("acting", "stays"),
    [(False, SLAVE.but(acting=False)), (None, SLAVE.but(acting=None)), (True, SLAVE.but(id=-1))],
    ids=["not acting", "old version", "an id below the master's"],
)
def test_other_groups_stay_writable(manager: Manager, acting: bool | None, stays: Broker) -> None:
    """B186."""
    manager.register(stays, {})
    manager.register(MASTER.but(acting=acting), TWO)
    manager.unregister(MASTER)
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {stays.id: SLAVE_ADDR}
    assert manager.tables.topic_queue_table["T1"][BROKER] == NORMAL


def test_a_batch_is_cleaned_once_at_its_end(manager: Manager) -> None:
    """A group of two that both leave is removed, not made read-only first."""
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    events = manager.unregister(MASTER, SLAVE)
    assert [type(event) for event in events] == [BrokerDown, BrokerDown, TopicsDeleted]
    assert manager.tables == RouteTables()


def test_an_unregistered_broker_is_not_brought_back_by_a_heartbeat(manager: Manager) -> None:
    """B177, B174, B176."""
    manager.register(MASTER, TWO)
    manager.now_ms += 5
    manager.tables.refresh("C2", ADDR, manager.now_ms)
    assert manager.tables.broker_live_table[manager.key(MASTER)].last_update_ms == manager.now_ms - 5
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms)
    assert manager.tables.broker_live_table[manager.key(MASTER)].last_update_ms == manager.now_ms
    manager.unregister(MASTER)
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms)
    assert manager.tables == RouteTables()

"""Which brokers are to be notified that the smallest id of their group changed. The switch for it is elsewhere."""

from __future__ import annotations

import pytest

from rocketns.routeinfo.events import Cause, Event, MinBrokerIdChanged
from tests.routeinfo.manager import ADDR, BROKER, MASTER, SLAVE, SLAVE_ADDR, Manager, table_of

TWO = table_of("T1", "T2")
SECOND = SLAVE.but(id=2, addr="127.0.0.1:50911")


def told(events: list[Event]) -> list[MinBrokerIdChanged]:
    return [event for event in events if isinstance(event, MinBrokerIdChanged)]


def test_a_smaller_id_joins_and_the_others_are_told(manager: Manager) -> None:
    """B192."""
    manager.register(SLAVE, TWO)
    manager.register(SECOND, TWO)
    (event,) = told(manager.register(MASTER, TWO).events)
    assert event == MinBrokerIdChanged(BROKER, 0, ADDR, None, MASTER.ha_addr, [SLAVE_ADDR, SECOND.addr])


@pytest.mark.parametrize("acting", [None, False, True])
def test_joining_does_not_ask_for_acting_masters(manager: Manager, acting: bool | None) -> None:
    """B196."""
    manager.register(SLAVE.but(acting=acting), TWO)
    assert len(told(manager.register(MASTER.but(acting=acting), TWO).events)) == 1


def test_the_first_member_and_larger_ids_are_nothing_to_tell(manager: Manager) -> None:
    """B194: except that a first broker with an id below 0 is notified about itself."""
    for broker in (SLAVE, SECOND, SLAVE):
        assert told(manager.register(broker, TWO).events) == []
    first = MASTER.but(name="other", id=-1)
    assert [event.receivers for event in told(manager.register(first, TWO).events)] == [[ADDR]]


def test_a_slave_that_became_master_is_told_of_itself(manager: Manager) -> None:
    manager.register(SLAVE, TWO)
    (event,) = told(manager.register(SLAVE.but(id=0), TWO).events)
    assert (event.min_broker_id, event.min_broker_addr, event.receivers) == (0, SLAVE_ADDR, [SLAVE_ADDR])


def test_a_registration_that_goes_no_further_tells_nobody(manager: Manager) -> None:
    manager.register(SLAVE, TWO)
    assert told(manager.register(MASTER, table_of("T1")).events) == []


def test_the_smallest_id_leaves_and_the_rest_is_told(manager: Manager) -> None:
    """B193: after the topics were cleaned up."""
    for broker in (SLAVE, SECOND, MASTER):
        manager.register(broker, TWO)
    events = manager.unregister(MASTER.leaving(Cause.CHANNEL_CLOSE))
    assert events[-1] == MinBrokerIdChanged(BROKER, 1, SLAVE_ADDR, ADDR, None, [SLAVE_ADDR, SECOND.addr])
    assert told(events) == [events[-1]]


def test_a_slave_with_the_smallest_id_leaves_and_the_rest_is_told(manager: Manager) -> None:
    """B193: also where the smallest is not the master."""
    for broker in (SLAVE, SECOND):
        manager.register(broker, TWO)
    (event,) = told(manager.unregister(SLAVE))
    assert (event.min_broker_id, event.min_broker_addr, event.offline_addr) == (2, SECOND.addr, SLAVE_ADDR)


def test_a_larger_id_leaves_unnoticed(manager: Manager) -> None:
    for broker in (MASTER, SLAVE):
        manager.register(broker, TWO)
    assert told(manager.unregister(SLAVE)) == []


def test_groups_without_acting_masters_are_not_told_who_left(manager: Manager) -> None:
    """B196."""
    for broker in (SLAVE, MASTER):
        manager.register(broker.but(acting=False), TWO)
    assert told(manager.unregister(MASTER)) == []


def test_nobody_is_left_to_be_told(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    assert told(manager.unregister(MASTER, SLAVE)) == []

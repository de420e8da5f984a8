"""Which brokers are to be notified that the smallest id of their group changed. The switch for it is elsewhere."""

from __future__ import annotations

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


def test_nobody_is_left_to_be_told(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    assert told(manager.unregister(MASTER, SLAVE)) == []

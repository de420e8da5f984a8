"""When a registration takes a live broker's address away, and what allows it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.access.classes import Access
from rocketns.access.principal import Globs, Principal
from rocketns.access.takeover import Excuse, excuse_of, holder_of
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Doubt, Reason
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.held.former import ADDRESS_CHARACTERS_MAX, FORMER_OF_A_GROUP_MAX
from rocketns.routeinfo.tables import NOTED_AT_ONCE_MAX, BrokerAddrInfo
from tests.routeinfo.manager import Broker, Manager, table_of

NAME = "b1"
OLD, NEW = "10.0.0.1", "10.0.0.2"
NAT = "192.0.2.1"
STRANGER = "203.0.113.9"


def broker(host: str, number: int = 0, **more: object) -> Broker:
    """A broker that registers from its own host."""
    return Broker(name=NAME, addr=f"{host}:10911", id=number, announced_by=host).but(**more)


def join(manager: Manager, by: Broker) -> None:
    """A registration with two topics: one with a single topic may be refused."""
    manager.register(by, table_of("baseTopic", "T"))


@pytest.fixture
def manager() -> Manager:
    """One master is registered."""
    manager = Manager()
    join(manager, broker(OLD))
    return manager


def holder(manager: Manager, by: Broker) -> str | None:
    return holder_of(manager.tables, by.name, by.id, by.addr, manager.now_ms)


def excuse(manager: Manager, by: Broker, *principals: Principal) -> Excuse | None:
    return excuse_of(manager.tables, by.name, by.addr, by.announced_by, principals)


def owner(*groups: str) -> Principal:
    return Principal("brokers", frozenset({Access.BROKER}), owns=Globs(groups))


# What counts as a takeover


def test_another_address_takes_the_id_of_a_live_broker(manager: Manager) -> None:
    assert holder(manager, broker(NEW)) == f"{OLD}:10911"


@pytest.mark.parametrize(
    "by", [broker(OLD), broker(NEW, 1), broker(NEW).but(name="b2")], ids=["same-address", "free-id", "other-group"]
)
def test_who_takes_nothing_is_no_takeover(manager: Manager, by: Broker) -> None:
    assert holder(manager, by) is None


def test_a_broker_that_names_another_cluster_takes_the_id_as_well(manager: Manager) -> None:
    """Java compares no stateVersion then, and replaces the holder."""
    assert holder(manager, broker(NEW).but(cluster="another")) == f"{OLD}:10911"


def test_a_holder_that_left_is_taken_over_by_anybody(manager: Manager) -> None:
    join(manager, broker(NEW, 1))
    manager.unregister(broker(OLD))
    assert holder(manager, broker(STRANGER)) is None


def test_a_holder_whose_connection_ended_is_taken_over_by_anybody(manager: Manager) -> None:
    """A pod that returns with another address while the node still runs: its old connection was closed."""
    gone = broker(OLD)
    join(manager, gone)
    join(manager, broker(NEW, 1))
    manager.close(gone.channel)
    assert holder(manager, broker(STRANGER)) is None


def test_an_overdue_holder_is_not_live_even_before_the_scan_finds_it(manager: Manager) -> None:
    manager.now_ms += 120_000
    assert holder(manager, broker(NEW)) is not None
    manager.now_ms += 1
    assert holder(manager, broker(NEW)) is None


def test_an_unconfirmed_holder_is_in_the_routes_and_counts_as_live(manager: Manager) -> None:
    key = BrokerAddrInfo(broker(OLD).cluster, broker(OLD).addr)
    liveness.doubt_broker(manager.tables, key, Doubt(Reason.RESTORED, 0, manager.now_ms + 1_000), manager.now_ms)
    assert holder(manager, broker(NEW)) == f"{OLD}:10911"
    manager.now_ms += 1_001
    assert holder(manager, broker(NEW)) is None


# What allows it


def test_nothing_allows_a_stranger(manager: Manager) -> None:
    assert excuse(manager, broker(STRANGER)) is None


def test_a_slave_becomes_the_master(manager: Manager) -> None:
    join(manager, broker(NEW, 1))
    assert holder(manager, broker(NEW, 0)) is not None
    assert excuse(manager, broker(NEW, 0)) is Excuse.WAS_MEMBER


def test_a_master_that_lost_its_id_returns(manager: Manager) -> None:
    join(manager, broker(NEW))
    assert holder(manager, broker(OLD)) is not None
    assert excuse(manager, broker(OLD)) is Excuse.WAS_MEMBER


@pytest.mark.parametrize("how", ["unregistered", "closed", "expired"])
def test_a_broker_that_left_returns_while_another_has_its_id(manager: Manager, how: str) -> None:
    join(manager, broker(NEW, 1, timeout_ms=999_999))
    match how:
        case "unregistered":
            manager.unregister(broker(OLD))
        case "closed":
            manager.close(next(iter(manager.tables.owned)))
        case "expired":
            manager.now_ms += 120_001
            manager.scan()
    join(manager, broker(NEW, 0))
    assert holder(manager, broker(OLD)) is not None
    assert excuse(manager, broker(OLD)) is Excuse.WAS_MEMBER


def test_who_replaced_an_unconfirmed_broker_is_replaced_by_it(manager: Manager) -> None:
    key = BrokerAddrInfo(broker(OLD).cluster, broker(OLD).addr)
    liveness.doubt_broker(manager.tables, key, Doubt(Reason.RESTORED, 0, manager.now_ms + 1_000), manager.now_ms)
    join(manager, broker(STRANGER))
    assert excuse(manager, broker(OLD)) is Excuse.WAS_MEMBER


@pytest.mark.parametrize("is_former", [False, True], ids=["member", "former"])
def test_who_only_names_the_address_of_a_member_is_a_stranger(manager: Manager, is_former: bool) -> None:
    """The address is a field of the request, and any peer can send it."""
    join(manager, broker(NEW, 1))
    if is_former:
        manager.unregister(broker(NEW, 1))
    assert excuse(manager, broker(NEW).but(announced_by=STRANGER)) is None


@pytest.mark.parametrize("is_former", [False, True], ids=["member", "former"])
def test_a_member_behind_a_gateway_returns_through_the_same_gateway(manager: Manager, is_former: bool) -> None:
    join(manager, broker(NEW, 1).but(announced_by=NAT))
    if is_former:
        manager.unregister(broker(NEW, 1))
    assert excuse(manager, broker(NEW).but(announced_by=NAT)) is Excuse.WAS_MEMBER


def test_a_member_stays_its_own_whoever_announced_its_address_later(manager: Manager) -> None:
    """So nobody becomes the announcer of a slave, to make it the master."""
    join(manager, broker(NEW, 1))
    join(manager, broker(NEW, 1).but(announced_by=STRANGER))
    assert excuse(manager, broker(NEW).but(announced_by=STRANGER)) is None


def test_a_host_that_is_not_known_is_no_announcer(manager: Manager) -> None:
    """Behind a PROXY header that any peer can write, both are unknown."""
    join(manager, broker(NEW, 1).but(announced_by=None))
    assert excuse(manager, broker(NEW).but(announced_by=None)) is None


def test_the_owner_of_the_group_may_take_over(manager: Manager) -> None:
    assert excuse(manager, broker(STRANGER), owner("other"), owner("b*")) is Excuse.OWNS_GROUP


def test_the_owner_of_another_group_may_not(manager: Manager) -> None:
    assert excuse(manager, broker(STRANGER), owner("other"), Principal("p", frozenset({Access.BROKER}))) is None


def test_principals_are_not_looked_for_where_a_member_returns(manager: Manager) -> None:
    """To find them, a signature over the whole body may be computed."""

    def asked() -> Iterator[Principal]:
        raise AssertionError("the principals were looked for")
        yield owner("*")

    join(manager, broker(NEW, 1))
    by = broker(NEW)
    assert excuse_of(manager.tables, NAME, by.addr, NEW, asked()) is Excuse.WAS_MEMBER


# The memory of former members


def test_former_members_are_forgotten_with_their_group(manager: Manager) -> None:
    join(manager, broker(NEW))
    manager.unregister(broker(NEW))
    assert not manager.tables.former.of(NAME)
    join(manager, broker(STRANGER))
    assert excuse(manager, broker(OLD)) is None


def test_a_group_remembers_a_few_former_members(manager: Manager) -> None:
    hosts = [f"10.0.1.{number}" for number in range(FORMER_OF_A_GROUP_MAX + 2)]
    for host in hosts:
        join(manager, broker(host))
    assert list(manager.tables.former.of(NAME)) == [f"{host}:10911" for host in hosts[1:-1]]


def test_an_address_of_any_length_is_not_remembered(manager: Manager) -> None:
    join(manager, broker("h" * ADDRESS_CHARACTERS_MAX, 1))
    manager.unregister(broker("h" * ADDRESS_CHARACTERS_MAX, 1))
    assert not manager.tables.former.of(NAME)


def test_an_address_in_many_groups_costs_no_more_when_it_ends(manager: Manager) -> None:
    names = [f"g{number}" for number in range(NOTED_AT_ONCE_MAX + 2)]
    for name in names:
        join(manager, broker(NEW, 1).but(name=name))
    key = BrokerAddrInfo(broker(NEW).cluster, broker(NEW).addr)
    manager.tables.remove_live_entry(key, Cause.UNREGISTER)
    assert [name for name in names if manager.tables.former.of(name)] == names[:NOTED_AT_ONCE_MAX]


# Held against what registrations do

hosts = st.sampled_from([OLD, NEW, STRANGER])
steps = st.tuples(
    st.sampled_from(["register", "register", "register", "unregister", "wait"]), hosts, st.integers(0, 2),
    st.sampled_from(["c1", "c2"]),
)  # fmt: skip


@given(st.lists(steps, max_size=20))
def test_each_live_broker_that_loses_its_id_to_another_was_a_holder(history: list[tuple[str, str, int, str]]) -> None:
    """And who was no holder loses nothing to another address."""
    manager = Manager()
    for what, host, number, cluster in history:
        by = broker(host, number).but(cluster=cluster)
        if what == "wait":
            manager.now_ms += 50_000
            manager.scan()
        elif what == "unregister":
            manager.unregister(by)
        else:
            found, group = holder(manager, by), manager.tables.broker_addr_table.get(NAME)
            before = None if group is None else group.broker_addrs.get(number)
            registrant = manager.tables.registrants.get(NAME, {}).get(number)
            is_live = manager.tables.live(registrant, before) is not None
            join(manager, by)
            loses = before is not None and before != by.addr and is_live
            assert found == (before if loses else None)

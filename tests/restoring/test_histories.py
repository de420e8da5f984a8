"""Whatever brokers, tools and time did before: after a kill or a stop, all answers about routes are as before.

A failure prints the shortest history that was found. `python -m tests.journal.wild` plays more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, topic_config
from rocketns.journal import encoding
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.routeinfo.unregistration import unregister_brokers
from tests.journal.wild import histories
from tests.journal.wild.grammar import Ask, Pass, Restart, Work
from tests.journal.wild.histories import restarted
from tests.journal.wild.world import DAY_S, World, small_pieces
from tests.support.profile import new_seed

SEED = new_seed()
HISTORIES = 150
OVER_SOCKETS = 5


def test_all_answers_are_as_before_a_restart(tmp_path: Path) -> None:
    found = histories.first_difference(SEED, HISTORIES, tmp_path / "home", histories.play)
    assert found is None, found


@pytest.mark.slow
def test_all_answers_of_a_killed_process_are_as_before(tmp_path: Path) -> None:
    found = histories.first_difference(SEED, OVER_SOCKETS, tmp_path / "home", histories.play_over_sockets)
    assert found is None, found


HOUR_MS = 3_600_000
HOWS = [(Restart(kill=True),), (Restart(kill=False),), (Restart(kill=True), Restart(kill=False), Restart(kill=True))]
every_restart = pytest.mark.parametrize("restarts", HOWS, ids=["kill", "stop", "three"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with small_pieces():
        yield World(tmp_path / "home")


def register(addr: str, *topics: str, name: str = "b", broker_id: int = 0, cluster: str = "C", state: int = 0,
             filters: list[str] | None = None, **ext: str) -> Ask:  # fmt: skip
    body = register_body([topic_config(topic) for topic in topics], data_version(state=state), filters=filters)
    return Ask(0, codes.REGISTER_BROKER, _broker(addr, name, str(broker_id), cluster) | ext, body)


def refused(addr: str, **more: Any) -> Ask:
    """A single topic from an id that is not registered."""
    return register(addr, "T", **more)


def unregister(addr: str, name: str = "b", broker_id: str = "0", cluster: str = "C") -> Ask:
    return Ask(0, codes.UNREGISTER_BROKER, _broker(addr, name, broker_id, cluster))


def heartbeat(addr: str) -> Ask:
    return Ask(0, codes.BROKER_HEARTBEAT, _broker(addr, "b", "0", "C"))


def _broker(addr: str, name: str, broker_id: str, cluster: str) -> dict[str, str]:
    return {"brokerAddr": addr, "brokerName": name, "brokerId": broker_id, "clusterName": cluster}


def play(world: World, *steps: Ask | Pass | Work) -> None:
    for step in steps:
        world.play(step)


def groups_and_names(world: World) -> tuple[dict[str, dict[int, str]], dict[str, set[str]]]:
    """The addresses of each group by id, and the names that each cluster lists."""
    groups = {name: group.broker_addrs for name, group in world.tables.broker_addr_table.items()}
    return groups, world.tables.cluster_addr_table


def check(world: World, restarts: tuple[Restart, ...]) -> None:
    """All answers are as before after each restart."""
    for restart in restarts:
        assert restarted(world, restart) is None
        world.play(Work(3))


NOTHING = ({}, {})
A_1 = ({"b": {0: "a:1"}}, {"C": {"b"}})
WHAT_JAVA_KEEPS = {
    "a group without a broker": ([refused("a:1", enableActingMaster="true")], NOTHING),
    "a group whose only id left": ([register("a:1", "T", "U"), refused("a:1", broker_id=1)], A_1),
    "a name that a cluster lists": ([register("a:1", "T", "U"), unregister("a:1", cluster="D")], NOTHING),
    "the cluster of a refused one": ([register("a:1", "T", "U"), refused("a:2", broker_id=1, cluster="D")], A_1),
}


@every_restart
@pytest.mark.parametrize(("steps", "expected"), WHAT_JAVA_KEEPS.values(), ids=WHAT_JAVA_KEEPS)
def test_entries_without_a_broker_are_absent(
    world: World, steps: list[Ask], expected: tuple[dict, dict], restarts: tuple[Restart, ...]
) -> None:
    """Neither before the restarts nor after them."""
    play(world, *steps)
    assert groups_and_names(world) == expected
    check(world, restarts)
    assert groups_and_names(world) == expected


@every_restart
def test_the_switches_of_a_registration_that_was_not_accepted(world: World, restarts: tuple[Restart, ...]) -> None:
    play(world, register("a:1", "T", "U"), refused("a:2", broker_id=1, enableActingMaster="true", __ZONE_NAME="z"))
    group = world.tables.broker_addr_table["b"]
    assert (group.broker_addrs, group.enable_acting_master, group.zone_name) == ({0: "a:1"}, True, "z")
    check(world, restarts)
    assert world.tables.broker_addr_table["b"].enable_acting_master


@every_restart
def test_an_id_that_was_given_up_for_one_that_another_has(world: World, restarts: tuple[Restart, ...]) -> None:
    """The registration is not accepted, and changes nothing else."""
    play(world, register("a:1", "T", "U"), register("a:2", "T", "U", broker_id=1, state=5))
    play(world, register("a:1", "T", "U", name="c"), register("a:1", "T", "U", broker_id=1))
    assert world.tables.broker_addr_table["b"].broker_addrs == {1: "a:2"}
    check(world, restarts)
    assert world.tables.broker_addr_table["b"].broker_addrs == {1: "a:2"}


@every_restart
def test_the_switches_of_a_member_that_left(world: World, restarts: tuple[Restart, ...]) -> None:
    play(world, register("a:1", "T", "U"), register("a:2", broker_id=1, enableActingMaster="true"))
    play(world, unregister("a:2", broker_id="1"))
    assert world.tables.broker_addr_table["b"].enable_acting_master
    check(world, restarts)
    assert world.tables.broker_addr_table["b"].enable_acting_master


def test_switches_that_a_member_changed_while_a_snapshot_was_written(world: World) -> None:
    """The snapshot has the other member already, and this one leaves before the snapshot comes to it."""
    long = {"heartbeatTimeoutMillis": str(10 * HOUR_MS)}
    play(world, register("a:1", "T", "U", **long), register("a:2", broker_id=1, **long), Pass(HOUR_MS), Work(1))
    play(world, register("a:2", broker_id=1, enableActingMaster="true"), unregister("a:2", broker_id="1"), Work(1_000))
    play(world, register("a:9", "T", "U", name="c"))  # its answer waits for all records
    assert world.tables.broker_addr_table["b"].enable_acting_master
    check(world, HOWS[0])


@every_restart
def test_a_name_that_two_clusters_list(world: World, restarts: tuple[Restart, ...]) -> None:
    """The cluster of its group, and that of its other member, until the last member leaves."""
    play(world, register("a:1", "T", "U"), register("a:2", "T", "U", broker_id=1, cluster="D"))
    for leaving in (unregister("a:1"), unregister("a:2", broker_id="1", cluster="D")):
        assert world.tables.cluster_addr_table == {"C": {"b"}, "D": {"b"}}
        check(world, restarts)
        play(world, leaving)
    assert groups_and_names(world) == NOTHING
    check(world, restarts)
    assert groups_and_names(world) == NOTHING


@every_restart
def test_filter_servers_of_an_address_that_changed_its_cluster(world: World, restarts: tuple[Restart, ...]) -> None:
    play(world, register("a:1", "T", "U", filters=["f:1"]), register("a:1", "T", "U", cluster="D"))
    assert world.tables.filter_server_table == {("C", "a:1"): ["f:1"]}
    check(world, restarts)
    assert world.tables.filter_server_table == {("C", "a:1"): ["f:1"]}


@every_restart
def test_the_live_entry_of_an_address_in_no_group(world: World, restarts: tuple[Restart, ...]) -> None:
    play(world, register("a:1", "T", "U"), register("a:2", "T", "U", state=5))
    assert BrokerAddrInfo("C", "a:1") in world.tables.broker_live_table
    assert world.tables.broker_addr_table["b"].broker_addrs == {0: "a:2"}
    check(world, restarts)
    assert BrokerAddrInfo("C", "a:1") in world.tables.broker_live_table


def test_an_address_in_no_group_that_is_heard_is_restored_like_others(world: World) -> None:
    """Its heartbeats have records: the last of them is no older than those of the other broker."""
    long = {"heartbeatTimeoutMillis": str(DAY_S * 1_000)}
    play(world, register("a:1", "T", "U", **long), register("a:2", "T", "U", state=5, **long))
    for _ in range(3):
        play(world, Pass(DAY_S * 400), heartbeat("a:1"), heartbeat("a:2"))
    check(world, HOWS[0])
    assert BrokerAddrInfo("C", "a:1") in world.tables.broker_live_table


@every_restart
def test_an_address_that_was_leaving_several_groups(world: World, restarts: tuple[Restart, ...]) -> None:
    """It left one when the server ended, and is restored in the other, which it leaves if it is not heard."""
    play(world, register("a:1", "T", "U"), register("a:1", "T", "U", name="c"))
    requests = liveness.closed_connection(world.tables, world.peers[0], Cause.CHANNEL_CLOSE)
    world.deliver(unregister_brokers(world.tables, requests, world.now.ms))
    assert (world.tables.broker_live_table, list(world.tables.broker_addr_table)) == ({}, ["c"])
    check(world, restarts)
    assert world.tables.live("C", "a:1")
    play(world, Pass(91_000))
    assert groups_and_names(world) == NOTHING


def test_an_address_that_was_leaving_in_a_snapshot_that_was_not_whole(world: World) -> None:
    play(world, register("a:1", "T", "U"), register("a:1", "T", "U", name="c"))
    assert restarted(world, Restart()) is None
    key = BrokerAddrInfo("C", "a:1")
    overdue = liveness.given_up(world.tables, key, world.tables.broker_live_table[key], Cause.UNCONFIRMED)
    world.deliver(unregister_brokers(world.tables, [overdue.request], world.now.ms))
    world.play(Work(2))
    play(world, register("a:9", "T", "U", name="d"))  # its answer waits for all records
    assert world.tables.live("C", "a:1") is None
    check(world, HOWS[0])


@every_restart
def test_names_that_are_no_valid_unicode(world: World, restarts: tuple[Restart, ...]) -> None:
    topics = b'{"x":{"topicName":"\\ud800"},"y":{"topicName":"\\\\ud800"}}'
    body = b'{"topicConfigSerializeWrapper":{"topicConfigTable":%b}}' % topics
    play(world, Ask(0, codes.REGISTER_BROKER, _broker("a:1", "b\udfff\\", "0", "C"), body))
    assert {"\ud800", "\\ud800"} == world.tables.topic_queue_table.keys()
    check(world, restarts)
    assert {"\ud800", "\\ud800"} == world.tables.topic_queue_table.keys()


def test_groups_without_a_broker_in_older_journals_are_left_out(world: World) -> None:
    """Nothing of it stays, and where the server was down for restoreMaxSeconds it does not count as known routes."""
    world.journal.buffer.put(encoding.columns("group", {"broker": "b", "gcluster": "C", "acting": False}))
    world.journal.buffer.put(encoding.columns("list", {"cluster": "D", "broker": "b", "listed": True}))
    check(world, HOWS[0])
    assert groups_and_names(world) == NOTHING
    world.journal.buffer.put(encoding.columns("group", {"broker": "b", "gcluster": "C", "acting": False}))
    world.journal.buffer.flush(world.now.epoch_ms)
    world.clock.set_wall(DAY_S * 1_000 + 2_000)
    world.restart(Restart())
    assert groups_and_names(world) == NOTHING
    assert world.restored is None or world.restored.routes.is_empty

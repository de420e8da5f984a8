"""Whatever brokers, tools and time did before: after a kill or a stop, all answers about routes are as before.

A failure prints the shortest history that was found. `make simulate ARGS="--wild --seeds N"` plays more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, topic_config
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.routeinfo.unregistration import unregister_brokers
from tests.simulation.test_simulation import simulate
from tests.simulation.wild import Act, WildSimulation, hold_snapshot, outcome_of
from tests.support.histories import WHOLE_HOUR_MS, Ask, Pass, Restart, Step

HISTORIES = 40
DAY_MS = 24 * WHOLE_HOUR_MS


@pytest.mark.parametrize("first", range(0, 4 * HISTORIES, HISTORIES))
def test_all_answers_are_as_before_a_restart(first: int) -> None:
    """After each step of random histories the journal tells what the tables hold."""
    simulate("--wild", "--first", first, "--seeds", HISTORIES)


KILL, STOP = Restart(kill=True), Restart(kill=False)


def register(addr: str, *topics: str, name: str = "b", broker_id: int = 0, cluster: str = "C", state: int = 0,
             filters: list[str] | None = None, **ext: str) -> Ask:  # fmt: skip
    """A single topic from an id that is not registered is refused."""
    body = register_body([topic_config(topic) for topic in topics], data_version(state=state), filters=filters)
    return Ask(0, codes.REGISTER_BROKER, who(addr, name, broker_id, cluster) | ext, body)


def unregister(addr: str, **more: Any) -> Ask:
    return Ask(0, codes.UNREGISTER_BROKER, who(addr, **more))


def who(addr: str, name: str = "b", broker_id: int = 0, cluster: str = "C") -> dict[str, str]:
    return {"brokerAddr": addr, "brokerName": name, "brokerId": str(broker_id), "clusterName": cluster}


def shows(expected: object, of: Callable[[WildSimulation], object]) -> Act:
    """Checks what the tables have."""

    def check(simulation: WildSimulation) -> None:
        assert of(simulation) == expected

    return check


def groups_and_names(simulation: WildSimulation) -> tuple[dict[str, dict[int, str]], dict[str, set[str]]]:
    """The addresses of each group by id, and the names that each cluster lists."""
    groups = {name: group.broker_addrs for name, group in simulation.tables.broker_addr_table.items()}
    return groups, simulation.tables.cluster_addr_table


def is_acting(simulation: WildSimulation) -> bool:
    return simulation.tables.broker_addr_table["b"].enable_acting_master


def live_addresses(simulation: WildSimulation) -> set[str]:
    return {key.addr for key in simulation.tables.broker_live_table}


NOTHING: tuple[object, object] = ({}, {})
LONG = {"heartbeatTimeoutMillis": str(10 * DAY_MS)}


def leave_one_group(simulation: WildSimulation) -> None:
    """An address begins to leave all its groups, and the server ends before it has left the second one."""
    tables, now = simulation.tables, simulation.server.clock.now()
    key = BrokerAddrInfo("C", "a:1")
    overdue = liveness.expired(tables, key, tables.broker_live_table[key], Cause.CHANNEL_CLOSE)
    events = unregister_brokers(tables, [overdue.request], now.ms)
    with simulation.world.as_process(simulation.process):
        simulation.process.controller.core.delivery.deliver(events, now)


def go_on_with_snapshot(simulation: WildSimulation) -> None:
    del simulation.journal._want_step
    simulation.process.loop.call_soon(simulation.journal._step)


PIECES_MS = 2  # one piece
HEARTBEATS = tuple(Ask(0, codes.BROKER_HEARTBEAT, who(addr)) for addr in ("a:1", "a:2"))
HISTORIES_OF: dict[str, tuple[Step | Act, ...]] = {
    "the switches of a registration that was not accepted": (
        register("a:1", "T", "U"), register("a:2", "T", broker_id=1, enableActingMaster="true", __ZONE_NAME="z"),
        shows(True, is_acting), KILL, shows(True, is_acting), STOP),
    "an id that was given up for one that another has": (
        register("a:1", "T", "U"), register("a:2", "T", "U", broker_id=1, state=5),
        register("a:1", "T", "U", name="c"), register("a:1", "T", "U", broker_id=1),
        shows({"b": {1: "a:2"}, "c": {0: "a:1"}}, lambda simulation: groups_and_names(simulation)[0]), KILL, STOP),
    "the switches of a member that left while a snapshot was written": (
        register("a:1", "T", "U", **LONG), register("a:2", broker_id=1, **LONG), Pass(WHOLE_HOUR_MS), Pass(PIECES_MS),
        hold_snapshot, register("a:2", broker_id=1, enableActingMaster="true"), unregister("a:2", broker_id=1),
        go_on_with_snapshot, Pass(1_000),
        shows(True, is_acting), KILL, shows(True, is_acting)),
    "an address in no group that is heard": (
        register("a:1", "T", "U", **LONG), register("a:2", "T", "U", state=5, **LONG),
        hold_snapshot, *(Pass(400 * DAY_MS), *HEARTBEATS) * 3,
        shows({"a:1", "a:2"}, live_addresses), KILL, shows({"a:1", "a:2"}, live_addresses)),
    "an address that was leaving several groups": (
        register("a:1", "T", "U"), register("a:1", "T", "U", name="c"), leave_one_group, hold_snapshot, KILL,
        shows({"a:1"}, live_addresses), Pass(121_000), shows(NOTHING, groups_and_names)),
}  # fmt: skip


@pytest.mark.parametrize("steps", HISTORIES_OF.values(), ids=HISTORIES_OF)
def test_odd_entries_are_as_before(steps: tuple[Step | Act, ...]) -> None:
    assert outcome_of(*steps) is None

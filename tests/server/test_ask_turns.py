"""Whose broker is asked next: hosts take turns, and each has a bounded number of asks."""

from __future__ import annotations

from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.server.confirming.confirming import OF_HOST_AT_ONCE_MAX, OF_HOST_IN_TICK_MAX, AskTurns


def turns_of(**waiting: int) -> AskTurns:
    turns = AskTurns()
    for host, count in waiting.items():
        for number in range(count):
            turns.put(host, BrokerAddrInfo("C", f"{host}:{number}"))
    turns.begin_tick()
    return turns


def taken(turns: AskTurns) -> list[str]:
    """The hosts of all asks that may begin now."""
    hosts = []
    while (turn := turns.next()) is not None:
        hosts.append(turn[0])
    return hosts


def test_a_host_with_many_brokers_delays_no_other() -> None:
    assert taken(turns_of(many=1_000, one=1, two=2))[:5] == ["many", "one", "two", "many", "two"]


def test_so_many_of_a_host_at_once() -> None:
    turns = turns_of(many=9)
    assert taken(turns) == ["many"] * OF_HOST_AT_ONCE_MAX
    turns.done("many")
    assert taken(turns) == ["many"]


def test_so_many_of_a_host_in_a_tick() -> None:
    turns, asked = turns_of(many=1_000), 0
    while turns.next() is not None:
        turns.done("many")
        asked += 1
    assert asked == OF_HOST_IN_TICK_MAX
    turns.begin_tick()
    assert turns.next() is not None


def test_all_are_asked_in_their_order() -> None:
    turns, found = turns_of(many=3), []
    while (turn := turns.next()) is not None:
        found.append(turn[1].addr)
        turns.done(turn[0])
    assert found == ["many:0", "many:1", "many:2"]


def test_nobody_waits_after_the_end() -> None:
    turns = turns_of(many=3)
    turns.clear()
    turns.begin_tick()
    assert taken(turns) == []

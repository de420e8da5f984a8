"""What is kept of a long watch."""

from __future__ import annotations

import pytest

from rocketns.doctor.asking import watching
from rocketns.doctor.asking.requests import LOOK_EVERY_S
from tests.doctor.standin import ONE, TWO, StandIn, gathered, well


def test_looks_that_show_the_same_are_kept_once() -> None:
    (server,) = gathered(well().serve, watch_s=100 * LOOK_EVERY_S).name_servers
    assert len(server.looks) == 100
    assert {id(one.groups) for one in server.looks} == {id(server.groups)}


def test_looks_that_always_differ_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that shows other brokers at each look."""
    monkeypatch.setattr(watching, "MEMBERS_MAX", 10)
    first = {"broker-a": {0: ONE}}
    changing = StandIn(first, later=[{"broker-a": {0: f"10.1.0.{n}:1"}} for n in range(50)] + [first] * 50)
    (server,) = gathered(changing.serve, watch_s=100 * LOOK_EVERY_S).name_servers
    assert len({id(one.groups) for one in server.looks} - {id(server.groups)}) == 10
    assert server.looks[-1].groups == server.groups


def test_brokers_that_take_turns_are_both_kept() -> None:
    one, other = {"broker-a": {0: ONE}}, {"broker-a": {0: TWO}}
    (server,) = gathered(StandIn(one, later=[other, one] * 10).serve, watch_s=20 * LOOK_EVERY_S).name_servers
    assert [look.groups["broker-a"].addrs[0][1] for look in server.looks] == [TWO, ONE] * 10

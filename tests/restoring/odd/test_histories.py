"""Whatever brokers, tools and time did before: after a kill or a stop, all answers about routes are as before.

A failure prints the shortest history that was found. `python -m tests.journal.wild` plays more of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unconfirmed import filling
from rocketns.routeinfo.unconfirmed.known import KnownGroup
from tests.journal.records.test_replay import SEED, found
from tests.journal.wild import histories, sockets, world

HISTORIES = 150
OVER_SOCKETS = 5


def test_all_answers_are_as_before_a_restart(tmp_path: Path) -> None:
    difference = found(SEED, HISTORIES, tmp_path / "home", histories.play)
    assert difference is None, difference


@pytest.mark.parametrize("reactors", [0, 2], ids=["loop", "reactors"])
def test_all_answers_of_a_killed_process_are_as_before(tmp_path: Path, reactors: int) -> None:
    difference = found(SEED + reactors, OVER_SOCKETS, tmp_path / "home", sockets.player(reactors))
    assert difference is None, difference


def test_a_name_that_is_not_restored_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The name in the cluster of a member, where the group has another."""
    put = RouteTables.put_member
    fault = lambda tables, group, broker_id, addr, _: put(tables, group, broker_id, addr, group.cluster)  # noqa: E731

    def fill(*given: Any) -> None:
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr(RouteTables, "put_member", fault)
            filling.fill(*given)

    monkeypatch.setattr(world, "fill", fill)
    assert found(1, 40, tmp_path / "home", histories.play)


def test_a_switch_that_is_not_restored_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(KnownGroup, "note_switches", lambda *_: None)
    assert found(1, 20, tmp_path / "home", histories.play)

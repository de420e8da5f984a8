"""Whatever brokers, tools and time did before: after a kill or a stop, all answers about routes are as before.

A failure prints the shortest history that was found. `python -m tests.journal.wild` plays more of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.routeinfo.unconfirmed import filling
from rocketns.routeinfo.unconfirmed.known import KnownRoutes
from tests.journal.records.test_replay import SEED, found
from tests.journal.wild import histories, sockets

HISTORIES = 150
OVER_SOCKETS = 12


def test_all_answers_are_as_before_a_restart(tmp_path: Path) -> None:
    difference = found(SEED, HISTORIES, tmp_path / "home", histories.play)
    assert difference is None, difference


@pytest.mark.parametrize("reactors", [0, 2], ids=["loop", "reactors"])
def test_all_answers_of_a_killed_process_are_as_before(tmp_path: Path, reactors: int) -> None:
    difference = found(SEED + reactors, OVER_SOCKETS, tmp_path / "home", sockets.player(reactors))
    assert difference is None, difference


def test_a_name_that_is_not_restored_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(KnownRoutes, "put_name", lambda *_: None)
    assert found(1, 20, tmp_path / "home", histories.play)


def test_a_switch_that_is_not_restored_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class BrokerData(filling.BrokerData):
        def __init__(self, cluster: str, name: str, addrs: dict[int, str], zone: str | None, acting: bool) -> None:
            super().__init__(cluster, name, addrs, zone, not acting)

    monkeypatch.setattr(filling, "BrokerData", BrokerData)
    assert found(1, 20, tmp_path / "home", histories.play)

"""The replayed journal equals the tables after each step of random histories: of brokers, tools, time and restarts.

A failure prints the shortest history that was found, and a line that replays it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocketns.journal.effects import Effects
from rocketns.journal.pieces.snapshot import Snapshot
from rocketns.journal.settling import Settling
from tests.journal.wild import histories
from tests.support.profile import new_seed

SEED = new_seed()
HISTORIES = 150


def found(seed: int, count: int, home: Path, how: histories.Play) -> str | None:
    """The first difference in so many histories, with the line that replays it."""
    for number in range(seed, seed + count):
        difference = histories.run(str(number), home, how)
        if difference is not None:
            return f"{difference}\nreplay: ROCKETNS_SEED={number} python -m pytest {__file__}"
    return None


def test_the_journal_tells_what_the_tables_hold(tmp_path: Path) -> None:
    difference = found(SEED, HISTORIES, tmp_path / "home", histories.read)
    assert difference is None, difference


@pytest.mark.parametrize(
    ("where", "handler"),
    [
        *((Effects, name) for name in ("_topics_deleted", "_join", "_down", "_topics_put", "_settle")),
        *((Settling, name) for name in ("_settle_group", "_settle_live")),
        (Snapshot, "_write_address"),
    ],
)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: type, handler: str) -> None:
    ignored: Callable[..., None] = lambda *_: None  # noqa: E731
    monkeypatch.setattr(where, handler, ignored)
    monkeypatch.setattr(histories, "SHRINK_TRIES_MAX", 20)
    difference = found(1, 400, tmp_path / "home", histories.read)
    assert difference is not None
    assert "replay: ROCKETNS_SEED=" in difference

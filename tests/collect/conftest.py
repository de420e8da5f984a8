"""Journals end on any disk, however slow it is: nothing here depends on when."""

from __future__ import annotations

import pytest

from rocketns.journal import journal


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "STOP_WITHIN_S", 60.0)

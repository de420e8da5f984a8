"""From which folders of closed days a run may continue. The folders hold no frames here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketns.pipeline.storage.earlier import EARLIER, META, VERSION, fitting, write
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.paths import folder_at

DAYS = {"2026-01-01": "a", "2026-01-02": "b"}
META_OF = {"t0": 1, "last": 2, "stray_from": None, "clocks": None, "mark": ""}


@pytest.fixture
def out(tmp_path: Path) -> Folder:
    """A folder with the output of a run that closed both days."""
    folder = folder_at(None, str(tmp_path))
    write(folder, {}, day="2026-01-02", days=DAYS, **META_OF)
    return folder


def changed(out: Folder, **fields: Any) -> None:
    [place] = [f"{EARLIER}/{name}/{META}" for name in out.names(EARLIER)]
    out.write(place, json.dumps({**json.loads(out.read(place)), **fields}).encode())


def test_the_one_with_most_days_comes_first(out: Folder) -> None:
    write(out, {}, day="2026-01-01", days={"2026-01-01": "a"}, **META_OF)
    assert [kept.day for kept in fitting(out, DAYS | {"2026-01-03": "c"})] == ["2026-01-02", "2026-01-01"]


@pytest.mark.parametrize("day", ["2025-12-31", *DAYS])
def test_other_records_of_a_closed_day_are_not_gone_on_from(out: Folder, day: str) -> None:
    """Late files of the last day or of one before it, or of a day that had none."""
    assert fitting(out, DAYS | {day: "late"}) == []


def test_a_day_that_is_gone_is_not_gone_on_from(out: Folder) -> None:
    assert fitting(out, {"2026-01-02": "b"}) == []


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1, None])
def test_a_folder_of_another_version_is_left_alone(out: Folder, version: int | None) -> None:
    """After an upgrade, and after going back to an older rocketns."""
    changed(out, version=version)
    assert fitting(out, DAYS) == []


def test_a_folder_that_is_being_written_does_not_count(out: Folder) -> None:
    [name] = out.names(EARLIER)
    out.delete(f"{EARLIER}/{name}/{META}")
    assert fitting(out, DAYS) == []

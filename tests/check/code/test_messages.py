"""A message between reactors and control is handled by its receiver; a forgotten step fails with the next one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.check.code.messages import (
    CONTROL,
    KINDS,
    REACTOR,
    RECEIVER,
    STUB,
    TO_CONTROL,
    TO_REACTOR,
    TRANSPORT,
    missing_steps,
)
from tests.check.source import ROOT


def test_no_message_lacks_a_step() -> None:
    found = list(missing_steps(ROOT))
    assert not found, "\n".join(found)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A root with the files that the check reads."""
    for name in (KINDS, STUB, CONTROL, TRANSPORT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    reactor = Path(REACTOR).parent
    shutil.copytree(ROOT / reactor, tmp_path / reactor, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    assert not list(missing_steps(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("before", "line", "said"),
    [
        (TO_CONTROL, "NOVELTY = 99  # a planted kind", "control does not get NOVELTY."),
        (TO_CONTROL, "NOVELTY = 99  # a planted kind", f"{STUB} has no NOVELTY."),
        (TO_CONTROL, "NOVELTY = 99  # a planted kind", "nobody sends NOVELTY."),
        (TO_CONTROL, "NOVELTY = 2  # a planted kind", f"NOVELTY and FRAME have the number 2 in {KINDS}."),
        (TO_REACTOR, "NOVELTY = 99  # a planted kind", "no reactor takes NOVELTY."),
        (TO_REACTOR, "FRAME = 99", f"{KINDS} does not say what FRAME means."),
    ],
)
def test_a_planted_kind_is_found(copied: Path, before: str, line: str, said: str) -> None:
    kinds = copied / KINDS
    text = kinds.read_text("utf-8")
    (whole,) = [one for one in text.splitlines(keepends=True) if before in one]
    kinds.write_text(text.replace(whole, f"{whole}    {line}\n"), "utf-8")
    assert any(step.startswith(f"{said} Next step: ") for step in missing_steps(copied))


@pytest.mark.parametrize(
    ("name", "old", "said"),
    [
        (RECEIVER, "def looked_up(", f"{RECEIVER} has no looked_up, which LOOKED_UP calls."),
        (TRANSPORT, "def looked_up(", f"{TRANSPORT} has no looked_up, which LOOKED_UP calls."),
        (REACTOR, "if message.kind == MOVE:\n            take_moving", "no reactor takes MOVE."),
    ],
)
def test_a_receiver_that_is_gone_is_found(copied: Path, name: str, old: str, said: str) -> None:
    file = copied / name
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, old.replace("looked_up", "planted").replace("MOVE", "GIVE")), "utf-8")
    assert [step.partition(" Next step: ")[0] for step in missing_steps(copied)] == [said]

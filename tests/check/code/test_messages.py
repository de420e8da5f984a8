"""A message between reactors and control is handled by its receiver; a forgotten step fails with the next one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.check.code.messages import CONTROL, KINDS, REACTOR, TO_CONTROL, TO_REACTOR, missing_steps
from tests.check.source import ROOT


def test_no_message_lacks_a_step() -> None:
    found = list(missing_steps(ROOT))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("before", "line", "said"),
    [
        (TO_CONTROL, "NOVELTY = 99  # a planted kind", "control does not get NOVELTY."),
        (TO_REACTOR, "NOVELTY = 99  # a planted kind", "no reactor takes NOVELTY."),
        (TO_REACTOR, "FRAME = 99", f"{KINDS} does not say what FRAME means."),
    ],
)
def test_a_planted_kind_is_found(tmp_path: Path, before: str, line: str, said: str) -> None:
    for name in (KINDS, REACTOR, CONTROL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    kinds = tmp_path / KINDS
    text = kinds.read_text("utf-8")
    (whole,) = [one for one in text.splitlines(keepends=True) if before in one]
    kinds.write_text(text.replace(whole, f"{whole}    {line}\n"), "utf-8")
    assert any(step.startswith(f"{said} Next step: ") for step in missing_steps(tmp_path))

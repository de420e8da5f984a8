"""ARCHITECTURE.md names existing files and folders, and each rule about it finds a planted violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.check.documents import architecture
from tests.check.source import ROOT

Rule = Callable[[Path], Iterator[str]]
RULES = (architecture.missing_paths, architecture.folders_without_row, architecture.questions_without_one_file)
QUESTIONS_MIN = 20
MAP = "| `rocketns/` | start |\n"
QUESTION = architecture.QUESTIONS + "\n\n| Where does it start? | `rocketns/a.py` |\n"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_document_keeps_the_rule(rule: Rule) -> None:
    found = list(rule(ROOT))
    assert not found, "\n".join(found)


def test_a_newcomer_finds_at_least_twenty_questions() -> None:
    assert len(architecture.questions(ROOT)) >= QUESTIONS_MIN


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "rocketns/room").mkdir(parents=True)
    (tmp_path / "rocketns/a.py").write_text("")
    return tmp_path


def document(root: Path, text: str) -> Path:
    (root / architecture.DOCUMENT).write_text(text, "utf-8")
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_true_document_passes(root: Path, rule: Rule) -> None:
    assert list(rule(document(root, MAP + QUESTION + "`/proc/stat` and `--reactors 0` are no paths\n"))) == []


def test_a_path_that_does_not_exist_is_found(root: Path) -> None:
    [found] = architecture.missing_paths(document(root, "First.\n\nSee `rocketns/gone.py`.\n"))
    assert found.startswith("ARCHITECTURE.md:3: rocketns/gone.py does not exist")


def test_a_folder_without_a_row_is_found(root: Path) -> None:
    (root / "rocketns/room/b.py").write_text("")
    [found] = architecture.folders_without_row(document(root, MAP))
    assert "rocketns/room/ has no row" in found


@pytest.mark.parametrize(
    "answer", ["`rocketns/room/`", "`rocketns/a.py` and `rocketns/a.py`", "the controller", "`b.py`"]
)
def test_a_question_without_exactly_one_file_is_found(root: Path, answer: str) -> None:
    text = QUESTION.replace("`rocketns/a.py`", answer)
    [found] = architecture.questions_without_one_file(document(root, MAP + text))
    assert "is not one file" in found

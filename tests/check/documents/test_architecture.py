"""ARCHITECTURE.md and docs/design name what exists, and each rule about them finds a planted violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.check.documents import architecture, folders
from tests.check.source import ROOT

Rule = Callable[[Path], Iterator[str]]
RULES = (
    architecture.missing_paths, architecture.rooms_without_row, architecture.too_long,
    architecture.questions_without_one_file,
)  # fmt: skip
QUESTIONS_OF_A_NEWCOMER = range(20, 31)
MAP = "| `rocketns/` | start |\n"
QUESTION = architecture.QUESTIONS + "\n\n| Where does it start? | `rocketns/a.py` |\n"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_document_keeps_the_rule(rule: Rule) -> None:
    found = list(rule(ROOT))
    assert not found, "\n".join(found)


def test_a_newcomer_finds_twenty_to_thirty_questions() -> None:
    assert len(architecture.questions(ROOT)) in QUESTIONS_OF_A_NEWCOMER


def test_the_page_of_folders_is_what_the_folders_say() -> None:
    assert folders.PAGE.read_text("utf-8") == folders.page(), "run python -m tests.check.documents.folders"


def test_a_folder_that_says_nothing_is_found(root: Path) -> None:
    (root / "rocketns/room/__init__.py").write_text("")
    with pytest.raises(ValueError, match=r"room/__init__\.py: say"):
        folders.page(root)


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


def test_a_path_in_a_page_of_design_is_looked_up_too(root: Path) -> None:
    (root / architecture.PAGES).mkdir(parents=True)
    (root / architecture.PAGES / "a.md").write_text("See `rocketns/gone.py`.\n")
    [found] = architecture.missing_paths(document(root, MAP))
    assert found.startswith("docs/design/a.md:1: rocketns/gone.py does not exist")


def test_a_room_without_a_row_is_found(root: Path) -> None:
    (root / "rocketns/room/__init__.py").write_text("")
    [found] = architecture.rooms_without_row(document(root, MAP))
    assert "rocketns/room/ has no row" in found


def test_a_document_that_is_too_long_is_found(root: Path) -> None:
    [found] = architecture.too_long(document(root, "x" * (architecture.BYTES_MAX + 1)))
    assert "move details to docs/design" in found


@pytest.mark.parametrize(
    "answer", ["`rocketns/room/`", "`rocketns/a.py` and `rocketns/a.py`", "the controller", "`b.py`"]
)
def test_a_question_without_exactly_one_file_is_found(root: Path, answer: str) -> None:
    text = QUESTION.replace("`rocketns/a.py`", answer)
    [found] = architecture.questions_without_one_file(document(root, MAP + text))
    assert "is not one file" in found

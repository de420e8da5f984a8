"""Generated pages and catalogues equal the code, Chinese pages follow the English ones, and links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.check.catalogues import FOLDER, domains, faults
from tests.check.pages import BEGIN, END, PAGES
from tests.check.source import ROOT

SOURCE = re.compile(r"`((?:rocketns|tests|interop|benchmarks|packaging)/[\w/.-]+)`")
ZH = ROOT / "docs" / "zh"
TWINS = [(ROOT / "README.md", ROOT / "README.zh-CN.md")] + [
    (page, ZH / page.name) for page in sorted((ROOT / "docs").glob("*.md")) if (ZH / page.name).is_file()
]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.M | re.S)
HEADING = re.compile(r"^(#{1,6}) .*$", re.M)
# Inline code that is a name of ours: a property, an option, a metric, a command.
NAME = re.compile(r"`((?:rocketns|journal|tls|--|-D)[\w.=-]*|rocketns [^`]+)`")
# What is made from the code is English only.
MADE = re.compile(f"{BEGIN}.*?{END}", re.S)
COMMAND = re.compile(r"^(?:\$ )?((?:make|rocketns|docker|helm|kubectl|pip|python|mqadmin|curl)\b[^#\n]*)", re.M)


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == PAGES[name](name), "python -m tests.check.pages"


@pytest.mark.parametrize("name", domains())
def test_a_catalogue_has_each_message_of_the_code_and_no_other(name: str) -> None:
    assert not list(faults(name, domains()[name])), "python -m tests.check.catalogues, then translate what is empty"


def test_each_catalogue_has_a_domain() -> None:
    assert {path.stem for path in FOLDER.glob("*.po")} == {*domains(), "argparse"}


@pytest.mark.parametrize(("english", "chinese"), TWINS, ids=lambda page: page.name)
def test_a_chinese_page_has_the_headings_commands_and_names_of_the_english_one(english: Path, chinese: Path) -> None:
    here, there = (MADE.sub("", page.read_text("utf-8")) for page in (english, chinese))
    assert _levels(here) == _levels(there)
    assert _commands(here) == _commands(there)
    assert set(NAME.findall(here)) == set(NAME.findall(there))


def _levels(text: str) -> list[int]:
    return [len(marks) for marks in HEADING.findall(BLOCK.sub("", text))]


def _commands(text: str) -> Counter[str]:
    """Of blocks that are no program's output, which is in the reader's language."""
    blocks = "\n".join(body for kind, body in BLOCK.findall(text) if kind != "text")
    indented = "\n".join(line.strip() for line in BLOCK.sub("", text).splitlines() if line.startswith("    "))
    return Counter(command.strip() for command in COMMAND.findall(f"{blocks}\n{indented}"))


def test_each_file_that_a_page_names_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {(page.name, path) for page in pages for path in SOURCE.findall(page.read_text("utf-8"))}
    assert len(named) > 100
    assert not [(page, path) for page, path in sorted(named) if not (ROOT / path).exists()]


@pytest.mark.slow
def test_the_site_builds_without_a_warning_so_each_link_leads_somewhere(tmp_path: Path) -> None:
    command = [sys.executable, "packaging/documentation.py", "--out", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    assert (tmp_path / "site" / "index.html").is_file()

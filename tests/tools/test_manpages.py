"""The manual pages that a build makes: one for each program, whole, and readable on a terminal of 80 columns."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rocketns import __version__
from rocketns.__main__ import AUDIT, COLLECT, DOCTOR, REPLAY, SHADOW, SWITCH, TOOLS, main
from rocketns.config import properties
from rocketns.config.sections import OWN
from tests.check.source import ROOT

WORDS = (*TOOLS, AUDIT, COLLECT, DOCTOR, SHADOW, SWITCH, REPLAY)
NAMES = ["rocketns", "mqnamesrv", *(f"rocketns-{word}" for word in WORDS)]
COLUMNS = 80
shows = pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written as in a build, by somebody whose language is Chinese."""
    made = tmp_path_factory.mktemp("man") / "man1"
    environment = os.environ | {"LANG": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8"}
    subprocess.run([sys.executable, ROOT / "packaging" / "manpages.py", made], check=True, env=environment)
    return made


def shown(page: Path) -> str:
    """What a terminal shows, without bold and underlined letters."""
    command = ["groff", "-ww", "-man", "-Tutf8", "-Kutf8", "-P-cbou", f"-rLL={COLUMNS - 2}n", str(page)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    return result.stdout


def test_each_program_has_a_page(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.1" for name in NAMES)


@shows
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_a_terminal_without_warnings(folder: Path, name: str) -> None:
    text = shown(folder / f"{name}.1")
    assert [line for line in text.splitlines() if len(line) > COLUMNS] == []
    assert "\u2010" not in text, "a word is divided; it may be a name that somebody copies"
    assert not re.search(r"[\u4e00-\u9fff]", text)


@shows
@pytest.mark.parametrize("name", NAMES)
def test_a_page_begins_as_whatis_and_apropos_read_it(folder: Path, name: str) -> None:
    lines = [line.strip() for line in shown(folder / f"{name}.1").splitlines() if line.strip()]
    assert lines[1] == "NAME"
    assert re.match(rf"{name} [-\u2212] [a-z]", lines[2])
    assert lines[-1].startswith(f"rocketns {__version__}")


@shows
@pytest.mark.parametrize("name", NAMES)
def test_headings_are_capitals_on_one_line_each(folder: Path, name: str) -> None:
    lines = shown(folder / f"{name}.1").splitlines()[1:-1]
    headings = [(line, lines[i + 1]) for i, line in enumerate(lines) if line[:1].strip()]
    assert [line for line, _ in headings if line != line.upper()] == []
    assert [line for line, below in headings if not below.strip()] == [], "nothing below it, or it goes on there"


@shows
@pytest.mark.parametrize("name", NAMES)
def test_descriptions_are_sentences(folder: Path, name: str) -> None:
    text = shown(folder / f"{name}.1").split("\nDESCRIPTION\n")[1].split("\n\n")[0]
    assert re.match(r" +([A-Z].*\.$|bash: )", text, re.S)


@shows
def test_exit_statuses_are_in_their_order_and_no_option_is_there_twice(folder: Path) -> None:
    for name in NAMES:
        text = shown(folder / f"{name}.1")
        statuses = re.findall(r"^ {7}(\d+)\b", text.partition("\nEXIT STATUS\n")[2], re.M)
        assert statuses == sorted(statuses, key=int)
        ends = text.split("\nOPTIONS")[1:]
        options = [option for end in ends for option in re.findall(r"^ {7}(--[\w-]+)", end, re.M)]
        assert len(options) == len(set(options))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_the_help_is_in_its_page(folder: Path, name: str) -> None:
    words = [] if name == "mqnamesrv" else name.split("-")[1:]
    page = (folder / f"{name}.1").read_text("utf-8").replace("\\-", "-")
    asked = [words, *([*words, word] for word in commands(words))]
    options = {found for each in asked for found in re.findall(r"^ +(?:-\w.*, )?(--[\w-]+)", spoken(each), re.M)}
    assert options
    assert {option for option in options - {"--help"} if option not in page} == set()


def commands(words: list[str]) -> list[str]:
    """The commands that the help of these words lists, such as run of audit."""
    listed = re.search(r"^ +(?:WHAT|COMMAND)\n((?: {4}\S.*\n(?: {6,}.*\n)*)+)", spoken(words), re.M) if words else None
    return re.findall(r"^ {4}(\w+)", listed[1], re.M) if listed else []


def spoken(words: list[str]) -> str:
    """The help of these words."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        patch.setenv("COLUMNS", "200")
        main([*words, "--help"])
    return said.getvalue()


def test_the_server_page_has_every_property(folder: Path) -> None:
    page = (folder / "mqnamesrv.1").read_text("utf-8")
    names = {f"{kind.prefix}{name}" for kind in OWN.values() for name in properties.declared(kind)}
    assert {name for name in names if name not in page} == set()


@shows
def test_examples_can_be_copied(folder: Path) -> None:
    """A line that is too long goes on in the next one, as a shell reads it."""
    for name in NAMES:
        found = re.search(r"^EXAMPLES\n((?:(?: .*)?\n)+)", shown(folder / f"{name}.1"), re.M)
        for command in re.findall(r"^ +((?:rocketns|mqnamesrv) .*(?:(?<=\\)\n.*)*)", found[1], re.M) if found else ():
            assert not command.endswith("\\")
            assert len(shlex.split(command)) > 1

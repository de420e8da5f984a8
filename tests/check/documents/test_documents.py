"""Documents name only what exists, and none has the version number."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rocketns import __version__
from tests.check.documents.documents import anchors, broken, documents
from tests.check.source import ROOT


def test_every_link_and_path_of_a_document_is_there() -> None:
    found = list(broken(ROOT))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[a](gone.md)", "README.md:1: no file gone.md"),
        ("\n[a](docs/a.md#gone)", "README.md:2: no heading for docs/a.md#gone"),
        ("[a](#gone)", "README.md:1: no heading for #gone"),
        ("see `rocketns/gone.py`", "README.md: `rocketns/gone.py` is not there"),
        ("see `docs/b*.md`", "README.md: `docs/b*.md` is not there"),
    ],
)
def test_a_planted_mistake_is_found(tmp_path: Path, text: str, reason: str) -> None:
    plant(tmp_path, text)
    assert list(broken(tmp_path)) == [reason]


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/a.md)", "[a](docs/a.md#a-title-of-its-own)", "# B\n[a](#b)", "[a](https://example.com/x#y)",
        "`rocketns/a.py`", "`rocketns/a`", "`docs/*.md`", "`server/a.py`", "    `rocketns/gone.py`",
    ],
)  # fmt: skip
def test_existing_links_pass(tmp_path: Path, text: str) -> None:
    plant(tmp_path, text)
    assert list(broken(tmp_path)) == []


def test_an_anchor_is_named_as_github_names_it() -> None:
    assert anchors("# A `b` {#c}\n\n## D, e: F\n") == {"a-b-c", "d-e-f"}


def test_the_version_stands_in_one_place() -> None:
    """The package takes it from rocketns/__init__.py, and so does --version."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    project = tomllib.loads(text)
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rocketns.__version__"}
    assert __version__ not in text
    for name in ("README.md", "Dockerfile", "setup.py", "Makefile"):
        assert f"rocketns {__version__}" not in (ROOT / name).read_text("utf-8")


def test_every_make_target_that_a_document_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for document in documents(ROOT):
        named = set(re.findall(r"`make ([a-z-]+)|^    make ([a-z-]+)", document.read_text("utf-8"), re.M))
        missing = {first or second for first, second in named} - targets
        assert not missing, f"{document.relative_to(ROOT)} names make {missing}, which the Makefile does not have"


def test_both_commands_are_the_same_program() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"rocketns": "rocketns.__main__:main", "mqnamesrv": "rocketns.__main__:main"}


def test_the_readme_names_every_document() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    pages = [page.relative_to(ROOT).as_posix() for page in documents(ROOT) if page.parent in (ROOT, ROOT / "docs")]
    missing = [page for page in pages if page != "README.md" and f"({page})" not in readme]
    assert not missing, f"Next step: a line in README.md's table of documents for {', '.join(missing)}"


def plant(root: Path, text: str) -> None:
    for name, content in {"README.md": text, "docs/a.md": "# A title, of its own\n", "rocketns/a.py": ""}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content, "utf-8")

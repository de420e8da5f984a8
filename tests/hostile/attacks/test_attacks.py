"""Each attack, to rocketns in each mode: what docs/security.md says happens, and `enforce` stops it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.servers import JavaNameServer, NameServer
from tests.hostile.attacks import page
from tests.hostile.attacks.attack import SUCCEEDS, Row, verdict
from tests.hostile.attacks.playing import play, start
from tests.hostile.attacks.table import JAVA, MODES, ROWS
from tests.hostile.conftest import assert_nothing_unforeseen

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.name))


each_mode = pytest.mark.parametrize("mode", MODES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def attacked(
    server_class: type[NameServer], mode: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NameServer]:
    """A server for all attacks in one mode. None of them may have caused an unexpected error."""
    server = start(server_class, tmp_path_factory.mktemp(mode), mode)
    yield server
    assert server.stop() == 0
    assert_nothing_unforeseen(server)


@each_row
@each_mode
@pytest.mark.usefixtures("open_files_max")
def test_what_happens_is_what_the_page_says(attacked: NameServer, mode: str, row: Row, tmp_path: Path) -> None:
    """`python -m tests.hostile.attacks --kept` writes the page again."""
    happens = verdict(play(row, attacked, tmp_path))
    assert happens == verdict(page.table()[row.name][mode])
    if mode == "enforce" and row.is_stopped is not None:
        assert (happens != SUCCEEDS) is row.is_stopped


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    server = start(JavaNameServer, tmp_path_factory.mktemp("java"), JAVA)
    yield server
    server.stop()


@pytest.mark.java
@pytest.mark.slow
@each_row
@pytest.mark.usefixtures("open_files_max")
def test_what_happens_to_java_is_what_the_page_says(java: NameServer, row: Row, tmp_path: Path) -> None:
    """`python -m tests.hostile.attacks` writes the page again."""
    assert verdict(play(row, java, tmp_path)) == verdict(page.table()[row.name][JAVA])


def test_the_page_has_the_rows_of_the_table() -> None:
    assert page.section() == page.text_of(page.table())

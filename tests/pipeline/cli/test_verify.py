"""`rocketns audit verify`: what it prints, its exit status, and heads that were kept elsewhere. No Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocketns.pipeline.cli.audit import main
from tests.journal.chained import BOOT_MS, Boot, files, journal, unsealed

HEAD = re.compile(r"head: (\S+)")


def verify(root: Path, *more: str) -> int:
    return main(["verify", "--journal", str(root), *more])


@pytest.fixture
def head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The head of a journal that goes on afterwards."""
    journal(tmp_path, ("stop",))
    assert verify(tmp_path) == 0
    (printed,) = HEAD.findall(capsys.readouterr().out)
    Boot(tmp_path, BOOT_MS + 3_600_000).put(60).stop()
    return str(printed)


def test_an_earlier_head_is_still_in_its_chain(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path, "--head", head) == verify(tmp_path, "--head", head.rpartition(":")[2]) == 0
    assert "n1: intact." in capsys.readouterr().out


def test_a_chain_that_was_made_anew_lacks_the_earlier_head(
    tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody wrote all files again, with seals that fit: only a head from elsewhere shows it."""
    for path in files(tmp_path):
        path.unlink()
    Boot(tmp_path, BOOT_MS).put(90).stop()
    assert verify(tmp_path) == 0
    assert verify(tmp_path, "--head", head) == 1
    assert "BROKEN: no chain here has" in capsys.readouterr().out


def test_a_changed_line_is_named(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert head
    path = files(tmp_path)[0]
    path.write_bytes(path.read_bytes().replace(b'"val":"3"', b'"val":"4"'))
    assert verify(tmp_path) == 1
    said = capsys.readouterr().out
    assert "n1: BROKEN at 1 places" in said
    assert re.search(rf"{re.escape(str(path))}:\d+: the bytes from line 1 to this seal", said)


@pytest.mark.usefixtures("chinese")
def test_faults_are_said_in_chinese(tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = files(tmp_path)
    first.write_bytes(first.read_bytes().replace(b'"val":"3"', b'"val":"4"'))
    second.unlink()
    assert verify(tmp_path, "--language", "zh", "--head", head) == 1
    said = capsys.readouterr().out
    assert said.count(".jsonl:") > 1
    without_paths = re.sub(r"\S+\.jsonl|n1|--head", "", said)
    assert re.findall(r"[A-Za-z]{2,}", re.sub(r"[0-9a-f]{40}", "", without_paths)) == []


def test_nobody_can_tell_of_a_head_whose_files_were_deleted(
    tmp_path: Path, head: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in files(tmp_path):
        if path.name.startswith(str(BOOT_MS)):
            path.unlink()
    assert verify(tmp_path, "--head", head) == 2
    assert "cannot tell whether" in capsys.readouterr().out


def test_nobody_can_tell_of_a_journal_without_seals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in journal(tmp_path, ("stop",)):
        unsealed(path)
    assert verify(tmp_path) == 2
    assert "an older version wrote them" in capsys.readouterr().out


def test_a_folder_without_a_journal_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path) == 2
    assert "name the folder that holds v=1" in capsys.readouterr().err
    assert verify(tmp_path, "--head", "nonsense") == 2
    assert "is no head" in capsys.readouterr().err

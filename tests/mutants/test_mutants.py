"""The catalogue of faults fits the code: each can be planted, and there are enough of them in every folder."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.__main__ import part_of
from tests.mutants.copy import ROOT
from tests.mutants.fault import Fault, UnusableFault, read_faults

FAULTS_MIN = 100
FOLDERS = ("_fast", "config", "journal", "pipeline", "processor", "protocol", "routeinfo", "server")


@pytest.mark.parametrize("fault", read_faults(), ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault: Fault, tmp_path: Path) -> None:
    """If it cannot, the code has changed: change the entry's ``old`` text, or remove the entry."""
    copy = tmp_path / fault.file
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / fault.file, copy)
    assert fault.plant(tmp_path) != copy.read_text("utf-8")
    named = list(itertools.takewhile(lambda word: word != "-k", fault.tests))
    assert all((ROOT / test.partition("::")[0]).exists() for test in named), named


def test_there_are_faults_of_every_folder() -> None:
    folders = Counter(fault.file.split("/")[1] for fault in read_faults())
    assert sum(folders.values()) >= FAULTS_MIN
    assert all(folders[name] for name in FOLDERS), folders


def test_a_text_that_is_not_there_once_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    for old in ("x = 1", "x = 2"):
        with pytest.raises(UnusableFault):
            Fault("a", "a.py", old, "x = 3", ()).plant(tmp_path)


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_the_parts_together_are_the_catalogue(parts: int) -> None:
    faults = read_faults()
    found = [fault for number in range(parts) for fault in part_of(faults, f"{number + 1}/{parts}")]
    assert Counter(found) == Counter(faults)


def test_a_part_that_there_is_not_is_refused() -> None:
    for part in ("0/2", "3/2", "1/0"):
        with pytest.raises(ValueError, match="no part"):
            part_of(read_faults(), part)

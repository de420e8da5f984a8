"""Every row of the Java server's behaviour has a test or a recorded step that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.parity.rows import compared
from tests.check.rows import described, named, recorded, rows
from tests.check.source import ROOT, plant


def test_every_row_is_named_by_a_test_or_a_recorded_step() -> None:
    missing = sorted({row.number for row in rows()} - named(ROOT).keys() - recorded().keys())
    assert not missing, f"{len(missing)} rows without a test: {' '.join(missing)}"


def test_every_row_is_compared_with_java() -> None:
    missing = sorted({row.number for row in rows()} - compared().keys())
    assert not missing, f"{len(missing)} rows without a scenario: {' '.join(missing)}"


def test_scenarios_name_rows_that_there_are() -> None:
    assert compared().keys() <= {row.number for row in rows()}


def test_the_list_of_rows_is_whole() -> None:
    assert [row.number for row in rows()] == [f"B{number:03}" for number in range(1, 252)]


def test_the_command_prints_a_row_with_its_tests_and_scenarios() -> None:
    first, *lines = described(["B007"])
    assert first.startswith("B007  ")
    kinds = [line.split()[0] for line in lines]
    counts = {"test": kinds.count("test"), "recorded": len(recorded()["B007"]), "scenario": len(compared()["B007"])}
    assert kinds == [kind for kind, count in counts.items() for _ in range(count)]
    assert all(counts.values())
    assert sum(line.startswith("B") for line in described([])) == len(rows())


@pytest.mark.parametrize(
    "text",
    [
        'def test_x():\n    """B007: a reason."""\n',
        'async def test_x():\n    """A reason (B006, B007)."""\n',
        'class TestX:\n    def test_x(self):\n        """B007/B008."""\n',
        "def test_b007_has_no_ext_fields():\n    pass\n",
        "def test_no_ext_fields_b007():\n    pass\n",
    ],
)
def test_a_row_counts_in_a_test_name_or_docstring(tmp_path: Path, text: str) -> None:
    plant(tmp_path, "tests/behaviour/test_x.py", text)
    assert "B007" in named(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/test_x.py", '"""B007"""\n'),
        ("tests/test_x.py", "# B007\ndef test_x():\n    pass\n"),
        ("tests/test_x.py", 'def helper():\n    """B007"""\n'),
        ("tests/test_x.py", 'def test_x():\n    """B0071, XB007 and B006-B008."""\n'),
        ("tests/helper.py", 'def test_x():\n    """B007"""\n'),
        ("benchmarks/test_x.py", 'def test_x():\n    """B007"""\n'),
    ],
)
def test_a_row_elsewhere_does_not_count(tmp_path: Path, name: str, text: str) -> None:
    plant(tmp_path, name, text)
    assert "B007" not in named(tmp_path)

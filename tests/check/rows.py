"""The rows of the Java server's behaviour (B001 …) in interop/parity/rows.md, and which tests and scenarios name them.

``python -m tests.check.rows B219 B220`` prints these rows with their tests and scenarios, or all rows.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from interop.parity.groups import SCENARIOS
from interop.parity.starts import STARTS
from tests.check.source import ROOT, Source, sources

PAGE = ROOT / "interop" / "parity" / "rows.md"
LINE = re.compile(r"^\| (B\d{3}) \| (.+) \| (.+) \|$", re.MULTILINE)
ROW = re.compile(r"(?<![A-Za-z0-9])[Bb](\d{3})(?!\d)")


class Row(NamedTuple):
    """One line of the page."""

    number: str
    stimulus: str
    required: str


def rows() -> list[Row]:
    """All rows, in order."""
    return [Row(*cells) for cells in LINE.findall(PAGE.read_text("utf-8"))]


@cache
def named(root: Path) -> dict[str, list[str]]:
    """Row → ``file::test`` of every test function in tests/ or interop/ whose name or docstring has it.

    Of a range only the two ends count.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources(root, "tests", "interop", suffixes=(".py",)):
        if Path(source.name).name.startswith("test_"):
            for function in _test_functions(source):
                text = f"{function.name}\n{ast.get_docstring(function) or ''}"
                for number in sorted(set(ROW.findall(text.replace("_", " ")))):
                    found[f"B{number}"].append(f"{source.name}::{function.name}")
    return found


def _test_functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def compared() -> dict[str, list[str]]:
    """Row → the scenarios and starts that name it; tests/golden/test_golden.py plays them all."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one in (*SCENARIOS.values(), *STARTS):
        for row in one.rows.split():
            found[row].append(one.name)
    return found


def described(numbers: list[str]) -> Iterator[str]:
    """The rows of these numbers, or all of them, with their tests and scenarios."""
    tests, scenarios = named(ROOT), compared()
    for row in rows():
        if not numbers or row.number in numbers:
            yield f"{row.number}  {row.stimulus}\n      {row.required}"
            yield from (f"      test      {test}" for test in sorted({*tests.get(row.number, ())}))
            yield from (f"      scenario  {name}" for name in scenarios.get(row.number, ()))


if __name__ == "__main__":
    print("\n".join(described(sys.argv[1:])))

"""The rows of the Java server's behaviour (B001 …), and which tests name them, read from the tests' syntax trees.

``python -m tests.check.rows`` writes docs/rows.md again.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from interop.parity.rows import compared
from tests.check.source import ROOT, Source, sources

LIST = Path(__file__).with_name("rows.tsv")
TABLE = ROOT / "docs" / "rows.md"
ROW = re.compile(r"(?<![A-Za-z0-9])[Bb](\d{3})(?!\d)")

INTRODUCTION = """# Every behaviour and the tests that name it

What the Java NameServer 5.5.0 does, row by row, and where rocketns is held to it. Made by
`python -m tests.check.rows`; a test holds it current. The behaviour tests also run against the Java server itself:
`pytest tests/behaviour --against=java`. The scenarios are played on both servers at once, by `make parity`.
"""
# A row can have dozens of scenarios; `interop.parity.rows.compared` has them all.
SCENARIOS_SHOWN_MAX = 3


class Row(NamedTuple):
    """One line of rows.tsv."""

    number: str
    part: str
    stimulus: str
    observable: str


def rows() -> list[Row]:
    """All rows, in order."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [Row(*line) for line in list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]]


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


def table(root: Path) -> str:
    """The text of docs/rows.md."""
    tests, scenarios, lines, part = named(root), compared(), [INTRODUCTION], ""
    for row in rows():
        if row.part != part:
            part = row.part
            lines.append(f"\n## {part}\n\n| Row | Stimulus | Required | Tests | Scenarios |\n|---|---|---|---|---|")
        cells = (row.number, _cell(row.stimulus), _cell(row.observable), _links(tests[row.number]))
        lines.append(f"| {' | '.join(cells)} | {_listed(scenarios.get(row.number, []))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _links(tests: list[str]) -> str:
    names = sorted({tuple(test.split("::")) for test in tests})
    return "<br>".join(f"[{name}](../{file})" for file, name in names)


def _listed(scenarios: list[str]) -> str:
    """The first few scenarios, and the number of the others."""
    more = len(scenarios) - SCENARIOS_SHOWN_MAX
    shown = [f"`{name}`" for name in scenarios[:SCENARIOS_SHOWN_MAX]]
    return "<br>".join([*shown, f"and {more} more"] if more > 0 else shown)


if __name__ == "__main__":
    TABLE.write_text(table(ROOT), "utf-8")

"""Constants in compiled code are equal to those of the same name in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "rocketns"
PYTHON = ("protocol", "config", "routeinfo")
COMPILED = re.compile(r"^    ([A-Z][A-Z0-9_]*) = ([0-9][0-9_]*|0x[0-9A-Fa-f_]+)\s*(?:#.*)?$", re.MULTILINE)
# Names that mean different things in the two.
UNRELATED = {"OTHER"}


def compiled() -> Iterator[tuple[str, str, int]]:
    """File, name and value of every number in an enum of the compiled code."""
    for path in sorted((ROOT / "_fast").rglob("*.p[yx][xd]")):
        for name, text in COMPILED.findall(path.read_text("utf-8")):
            yield path.name, name, int(text, 0)


def python() -> dict[str, set[int]]:
    """The values of every named number at the top of a Python module or in a class."""
    found: dict[str, set[int]] = {}
    for path in (path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = _number(node.value)
                if value is not None:
                    found.setdefault(node.targets[0].id, set()).add(value)
    return found


def _number(node: ast.expr) -> int | None:
    """A number, or a product or shift of numbers."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.LShift):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    return left * right if isinstance(node.op, ast.Mult) else left << right


def test_equal_names_have_equal_values() -> None:
    names = python()
    wrong = [
        f"{file}: {name} = {value}, in Python {sorted(names[name])}"
        for file, name, value in compiled()
        if name in names and name not in UNRELATED and names[name] != {value}
    ]
    assert wrong == []


def test_the_twins_limits_are_compared() -> None:
    """These constants are in both, so the test notices if only one of them changes."""
    shared = {name for _, name, _ in compiled()} & set(python())
    assert {
        "BLOCKS_MAX",
        "ODD_VALUES_MAX",
        "HEADER_VALUES_MAX",
        "FILTER_SERVERS_MAX",
        "DEFAULT_QUEUE_NUMS",
        "NESTING_MAX",
        "V4_9_4",
    } <= shared

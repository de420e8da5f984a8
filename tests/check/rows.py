"""Which rows of the Java server's behaviour (B001 …) the tests name, read from the tests' syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.check.source import Source, sources

# Not promised yet: ROCKETMQ answers (B033, B034), PROXY protocol, TLS and what is listed with them (B054-B075),
# GO_AWAY (B080, B081), notification 905 (B192-B196) and clusterTest (B248).
REQUIRED_RANGES = ((1, 32), (35, 53), (76, 79), (82, 191), (197, 247), (249, 251))
ROW = re.compile(r"(?<![A-Za-z0-9])[Bb](\d{3})(?!\d)")


def required() -> set[str]:
    return {f"B{number:03}" for first, last in REQUIRED_RANGES for number in range(first, last + 1)}


def named(root: Path) -> set[str]:
    """Rows in the name or docstring of a test function in tests/ or interop/. A range counts as its two ends."""
    found: set[str] = set()
    for source in sources(root, "tests", "interop", suffixes=(".py",)):
        if Path(source.name).name.startswith("test_"):
            for function in _test_functions(source):
                text = f"{function.name}\n{ast.get_docstring(function) or ''}"
                found |= {f"B{digits}" for digits in ROW.findall(text.replace("_", " "))}
    return found


def _test_functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node

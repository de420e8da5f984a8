"""The result tables that a run left, so that two runs can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet

DIGITS = 9  # sums of fractions differ after these, by the order of their parts


def tables_in(results: Path) -> dict[str, list[str]]:
    """The rows of each table as sorted lines."""
    folders = [path for path in sorted(results.iterdir()) if path.is_dir()]
    return {folder.name: sorted_lines(pyarrow.parquet.read_table(folder).to_pylist()) for folder in folders}


def rounded(value: Any) -> Any:
    """A plain value with DIGITS of each fraction."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def sorted_lines(rows: Iterable[Any]) -> list[str]:
    """Rows as sorted lines, with DIGITS of each fraction."""
    return sorted(json.dumps(rounded(row), sort_keys=True) for row in rows)

"""Reading the files in SQL, with another parser of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from rocketns.journal.record import COLUMNS
from tests.pipeline.frames import duck_rows

TYPES = {"long": "bigint", "string": "varchar", "int": "integer", "boolean": "boolean"}
NESTED = {
    "topics": "struct(t varchar, r integer, w integer, p integer, s integer)[]",
    "maps": "struct(t varchar, n varchar, b varchar, ids integer[][], e bigint, q integer, d boolean, sc varchar)[]",
    "fs": "varchar[]",
    "fields": "struct(k varchar, v varchar)[]",
}
FILES = "v=1/dt=*/ns=*/[0-9]*.jsonl"


def events(journal: Path) -> list[tuple[Any, ...]]:
    """Every record, with the folder's dt and ns; for journals without lines that do not parse."""
    return duck_rows(duckdb.connect(), select_events(journal))


def select_events(journal: Path) -> str:
    """The query of ``events``."""
    columns = {name: NESTED.get(name) or TYPES[kind] for name, kind in COLUMNS.items() if name != "ns"}
    shown = ", ".join(f"p[3][4:] as {name}" if name == "ns" else f'"{name}"' for name in COLUMNS)
    return f"""
        with read as (
            select *, string_split(filename, '/')[-4:] as p
            from read_json('{journal / FILES}', format = 'newline_delimited', columns = {columns}, filename = true,
                hive_partitioning = false)
        )
        select {shown}, p[2][4:] as dt from read
    """

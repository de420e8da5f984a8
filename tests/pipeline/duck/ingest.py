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


def counts(journal: Path) -> list[tuple[Any, ...]]:
    """ns, lines, and those that are not an object with what every record has, by file."""
    query = f"""
        with lines as (
            select filename, unnest(string_split(content, chr(10))) as line from read_text('{journal / FILES}')
        )
        select string_split(filename, '/')[-2][4:] as ns, count(*), count(*) filter (
            case when json_valid(line) then json_type(line, '$.boot') is distinct from 'UBIGINT'
                or json_type(line, '$.seq') is distinct from 'UBIGINT'
                or json_type(line, '$.ts') is distinct from 'UBIGINT'
                or json_type(line, '$.ev') is distinct from 'VARCHAR' else true end)
        from lines where line <> '' group by filename
    """
    return duck_rows(duckdb.connect(), query)

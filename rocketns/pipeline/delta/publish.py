"""Events and result tables below --out, made or brought up to date as tables of Delta Lake."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql.pandas.types import to_arrow_schema

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.delta.table import has, insert_new, opened, replace
from rocketns.pipeline.storage.events.manifest import Manifest, Part, State
from rocketns.pipeline.storage.files.places import is_on_this_machine
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import EVENTS_FOLDER, RESULTS, SUMMARY, current

PARTITIONS = ("dt", "ns")
Say = Callable[[str], object]


class Published(NamedTuple):
    """``records`` that were new, in so many ``days``, a day of one name server each; ``tables`` that were replaced;
    ``run``: the run they are of, '' if there is none yet."""

    records: int
    days: int
    tables: int
    run: str


def publish(out: str, to: str, say: Say) -> Published:
    """Bring ``to``/events and ``to``/results/<table> up to date with what is below ``out``, a folder of this machine.

    ``to``: a folder, or s3://… with the environment's AWS_… settings. Each day of a name server is one commit, and so
    is each result table. A crash leaves whole commits, and the next call goes on. BadInput if ``to`` belongs to another
    journal.
    """
    if not is_on_this_machine(out):
        raise BadInput(f"--out {out} is not a folder of this machine")
    manifest = Manifest(None, f"{out.rstrip('/')}/{EVENTS_FOLDER}")
    state = manifest.state()
    if not state.parts:
        raise BadInput(f"--out {out} has no records. Start with 'rocketns audit run' or 'rocketns audit ingest'.")
    records, days = _publish_events(manifest.folder, state, f"{to.rstrip('/')}/{EVENTS_FOLDER}", say)
    folder = Folder(None, out)
    run = str(current(folder)["run"]) if folder.exists(SUMMARY) else ""
    tables = _publish_results(folder, run, f"{to.rstrip('/')}/{RESULTS}", say) if run else 0
    return Published(records, days, tables, run)


def _publish_events(folder: Folder, state: State, uri: str, say: Say) -> tuple[int, int]:
    schema = to_arrow_schema(EVENTS)
    table = opened(uri, schema, PARTITIONS, f"rocketns: records of {', '.join(state.journal)}")
    new = _new_parts(table, state.parts)
    records = 0
    for number, ((dt, ns), parts) in enumerate(new.items(), 1):
        say(f"events of {dt} and {ns} ({number} of {len(new)})")
        rows = _rows([folder.local_path(part.path) for part in parts], schema, {"dt": dt, "ns": ns})
        records += insert_new(table, rows, _same(dt, ns), [part.path for part in parts])
    return records, len(new)


def _new_parts(table: DeltaTable, parts: Sequence[Part]) -> Mapping[tuple[str, str], Sequence[Part]]:
    new: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for part in parts:
        if not has(table, part.path):
            new[part.dt, part.ns].append(part)
    return dict(sorted(new.items()))


def _rows(folders: Sequence[Path], schema: pa.Schema, constants: Mapping[str, str]) -> pa.RecordBatchReader:
    """The records of these Parquet folders, without lines that did not parse. Columns that a folder lacks are null."""
    stored = pa.schema([*[field for field in schema if field.name not in constants], ("corrupt", pa.bool_())])
    files = [str(path) for folder in folders for path in sorted(folder.glob("*.parquet"))]
    columns = {name: pc.scalar(constants[name]) if name in constants else pc.field(name) for name in schema.names}
    scanner = ds.dataset(files, schema=stored, format="parquet").scanner(columns=columns, filter=~pc.field("corrupt"))
    return scanner.to_reader()


def _same(dt: str, ns: str) -> str:
    """A record's key is (ns, boot, seq)."""
    place = f"old.dt = {_quoted(dt)} AND old.ns = {_quoted(ns)}"
    return f"{place} AND old.ns = new.ns AND old.dt = new.dt AND old.boot = new.boot AND old.seq = new.seq"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _publish_results(folder: Folder, run: str, uri: str, say: Say) -> int:
    names = [name for name in folder.names(f"{RESULTS}/{run}") if name in BY_NAME]
    replaced = 0
    for name in names:
        if not _is_of(f"{uri}/{name}", run):
            say(f"table {name}")
            rows = ds.dataset(folder.local_path(f"{RESULTS}/{run}/{name}"), format="parquet").scanner().to_reader()
            replace(f"{uri}/{name}", rows, "rocketns: a result table", [run])
            replaced += 1
    return replaced


def _is_of(uri: str, run: str) -> bool:
    try:
        return has(DeltaTable(uri), run)
    except TableNotFoundError:
        return False

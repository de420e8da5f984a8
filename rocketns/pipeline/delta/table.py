"""One table of Delta Lake: opened or made, what was written to it already, and one commit at a time.

deltalake (delta-rs) writes it, without Java. The JVM's writer, delta-spark, is made for one version of Spark each, and
none of its releases allows the newest Spark. Whoever reads Delta tables reads these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from rocketns.pipeline.contract.errors import BadInput


def opened(uri: str, schema: pa.Schema, partitions: Sequence[str], belongs_to: str) -> DeltaTable:
    """The table at a path or ``s3://…``; it is made if nothing is there. BadInput if it belongs to something else."""
    try:
        table = DeltaTable(uri)
    except TableNotFoundError:
        table = _made(uri, schema, partitions, belongs_to)
    known = table.metadata().description
    if known != belongs_to:
        raise BadInput(f"{uri} is a table of something else ({known or 'without a description'}): name another --to")
    return table


def _made(uri: str, schema: pa.Schema, partitions: Sequence[str], belongs_to: str) -> DeltaTable:
    try:
        return DeltaTable.create(uri, schema, partition_by=list(partitions), description=belongs_to)
    except DeltaError:
        return DeltaTable(uri)  # another program made it meanwhile


def has(table: DeltaTable, name: str) -> bool:
    """Whether a commit of this name was made, however long ago."""
    return table.transaction_version(name) is not None


def insert_new(table: DeltaTable, rows: pa.RecordBatchReader, same: str, names: Sequence[str]) -> int:
    """Insert the rows that have no equal by ``same``, an SQL condition on ``old`` and ``new``, in one commit with these
    names. Returns how many they were."""
    merge = table.merge(rows, same, source_alias="new", target_alias="old", commit_properties=_named(names))
    with _alone():
        told: dict[str, Any] = merge.when_not_matched_insert_all().execute()
    return int(told["num_target_rows_inserted"])


def replace(uri: str, rows: pa.RecordBatchReader, belongs_to: str, names: Sequence[str]) -> None:
    """Make these rows the whole table, in one commit with these names. Who reads it meanwhile sees the old one."""
    how = _named(names)
    with _alone():
        write_deltalake(
            uri, rows, mode="overwrite", schema_mode="overwrite", description=belongs_to, commit_properties=how
        )


@contextmanager
def _alone() -> Iterator[None]:
    """BadInput if another program wrote to the table meanwhile: then this commit was not made."""
    try:
        yield
    except CommitFailedError as error:
        raise BadInput("another program wrote to the table at the same time: start the command again") from error


def _named(names: Sequence[str]) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(name, 1) for name in names])

"""One schema, held to the journal's written contract."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from rocketns.journal import record
from rocketns.pipeline.contract import schema
from rocketns.pipeline.contract.frames import columns, conform


def test_events_have_the_columns_and_types_that_the_contract_states(spark: SparkSession) -> None:
    stated = ", ".join(f"`{name}` {kind}" for name, kind in {**record.COLUMNS, "dt": "string"}.items())
    parsed = spark.createDataFrame([], stated).schema
    assert parsed == schema.EVENTS


def test_no_record_has_a_column_that_readers_do_not_know() -> None:
    known = set(schema.RECORD.names)
    assert {"boot", "seq", "ts", "ev"}.union(*(kind.columns for kind in record.KINDS.values())) == known


def test_conform_orders_casts_and_names_the_columns(spark: SparkSession) -> None:
    wanted = columns("a:long values:values", values=schema.KEY_WINDOWS["values"].dataType)
    frame = spark.sql(
        "select 1 as extra, array(struct('n1' as x, true as y, 4 as r, 4 as w, 6 as p)) as values, 7 as a"
    )
    out = conform(frame, wanted)
    assert isinstance(out.schema, StructType)
    assert out.schema.simpleString() == wanted.simpleString()

"""What an audit said of a synthetic fleet, compared with the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.results import LINES, Results, current
from tests.pipeline.synthetic.cards_compared import card_verdicts
from tests.pipeline.synthetic.make import Truth
from tests.pipeline.synthetic.truth import COLUMNS, compare
from tests.pipeline.synthetic.verdicts import Verdict


def compared(spark: SparkSession, out: str, truth: Truth) -> list[Verdict]:
    """The tables and the incidents of the run that counts, with what is to be found."""
    return [*compare(truth, result_tables(spark, out)), *card_verdicts(truth, listed(spark, out))]


def published(spark: SparkSession, out: str) -> Results:
    """The tables of the run that counts."""
    folder = folder_at(spark, out)
    return Results(spark, folder, current(folder)["run"])


def result_tables(spark: SparkSession, out: str) -> dict[str, list[Mapping[str, Any]]]:
    """The columns of the result tables that are compared."""
    results = published(spark, out)
    return {
        name: [row.asDict() for row in results.frame(name).select(*columns).collect()]
        for name, columns in COLUMNS.items()
    }


def listed(spark: SparkSession, out: str) -> list[Mapping[str, Any]]:
    """The incidents of the page."""
    return [json.loads(line) for line in folder_at(spark, out).read(LINES).splitlines()]

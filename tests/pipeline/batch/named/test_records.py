"""The journal records that the incidents of a run name."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.reporting import report_input
from rocketns.pipeline.report.beside.lines import json_lines
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.batch.eventful import Whole
from tests.pipeline.evidence import invented, named_records


def test_every_record_that_an_incident_names_is_in_the_journal(spark: SparkSession, whole: Whole) -> None:
    """With a hole, kills, snapshots, two days, and a clock that is ahead."""
    results = Results(spark, folder_at(spark, whole.request.out), whole.tables.name)
    empty = {"verdict": "findings", "incomplete": [], "options": {}, "figures": {}, "notes": {}}
    lines = json_lines(report_input(results, empty | {"observation": whole.observation._asdict()}))
    assert {record["ev"] for _, record in named_records(lines)} >= {"down", "reg", "start", "stop", "tput", "tdel"}
    assert invented(lines, whole.journals) == []

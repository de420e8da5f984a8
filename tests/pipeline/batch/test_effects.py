"""What incidents did to topics and consumers, counted in the whole tables by Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.effects import counted
from rocketns.pipeline.contract.catalogue import LISTED
from rocketns.pipeline.incidents.listing import incidents_of
from rocketns.pipeline.incidents.model import Harm, Incident, Kind
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.batch.eventful import Whole


def effects(incidents: list[Incident]) -> list[tuple[int, int, int]]:
    return [(one.harm.topics, one.harm.orphaned, one.harm.twice) for one in incidents]


def test_the_whole_tables_tell_what_the_list_tells_where_it_has_all_rows(
    spark: SparkSession, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocketns.pipeline.storage.results.ROWS_COLLECTED_MAX", 1_000_000)
    results = Results(spark, folder_at(spark, whole.request.out), whole.tables.name)
    listed = incidents_of(results.tables(LISTED), *whole.observation)
    made = [one for one in listed if one.rows and one.kind is not Kind.FLAP]  # of which the largest parts are told
    assert {len(one.rows) > 1 for one in made} == {True, False}
    assert any(one.harm.orphaned for one in made)
    assert effects(
        counted(results, [replace(one, harm=Harm(one.harm.topics if len(one.rows) == 1 else 0)) for one in made])
    ) == effects(made)


def test_incidents_that_no_difference_shows_stay_as_they_are(spark: SparkSession, whole: Whole) -> None:
    results = Results(spark, folder_at(spark, whole.request.out), whole.tables.name)
    lost = Incident(Kind.SILENT, 0, 1, going_on=True, ns=("n1",))
    assert counted(results, [lost]) == [lost]

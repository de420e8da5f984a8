"""Results of a run are published in one step, whatever else happens at the same time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage import results as storing
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import RUNS_KEPT, Results, current


def run_of(spark: SparkSession, out: Path, name: str) -> Results:
    """A run with one table, which is not published."""
    results = Results(spark, folder_at(spark, str(out)), f"20260101T000000-{name:0>8}")
    results.save("skew", spark.range(int(name, 16)))
    return results


def publish(results: Results, page: bytes = b"") -> None:
    pages = dict.fromkeys(storing.PAGES, page or results.run.encode())
    results.publish({"run": results.run, "results": results.place}, pages)


def shown(out: Path) -> tuple[str, str]:
    """The run that counts, and the one whose page is shown."""
    return json.loads((out / "summary.json").read_text("utf-8"))["run"], (out / "report.html").read_text("utf-8")


def test_a_run_that_crashes_leaves_the_results_of_the_run_before(spark: SparkSession, tmp_path: Path) -> None:
    publish(run_of(spark, tmp_path, "1"))
    run_of(spark, tmp_path, "2")
    found = Results.published(spark, folder_at(spark, str(tmp_path)))
    assert (found.run[-1], found.frame("skew").count()) == ("1", 1)


def test_two_runs_at_once_show_the_page_of_the_one_that_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run finishes between the summary and the page of the first run."""
    first, second = run_of(spark, tmp_path, "1"), run_of(spark, tmp_path, "2")
    show = storing.show_pages

    def late(out: Folder) -> None:
        monkeypatch.setattr(storing, "show_pages", show)
        publish(second)
        show(out)

    monkeypatch.setattr(storing, "show_pages", late)
    publish(first)
    assert shown(tmp_path) == (second.run, second.run)


def test_old_runs_are_removed(spark: SparkSession, tmp_path: Path) -> None:
    for name in "12345":
        publish(run_of(spark, tmp_path, name))
    kept = sorted(path.name[-1] for path in (tmp_path / "results").iterdir())
    assert kept == list("12345"[-RUNS_KEPT:])


def test_a_run_that_is_going_on_is_not_removed(spark: SparkSession, tmp_path: Path) -> None:
    """The remains of a crash are removed after a day. The run ids of these tests are old."""
    going = Results(spark, folder_at(spark, str(tmp_path)))
    going.save("skew", spark.range(1))
    run_of(spark, tmp_path, "1")
    publish(run_of(spark, tmp_path, "2"))
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [f"20260101T000000-{2:08}", going.run]


def test_a_folder_without_a_run_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no results of an earlier run"):
        current(folder_at(spark, str(tmp_path)))

"""`rocketns audit run` from files to tables, page and exit status; the hand-computed example comes out exactly."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.cli.audit import main
from tests.pipeline.journals import SECOND, Broker, Journal, topic, worked_example, write_files

SMALL = ("--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.sql.codegen.wholeStage=false")
A, B = "10.0.0.1:10911", "10.0.0.2:10911"


@pytest.fixture(scope="module")
def words(spark: SparkSession) -> Iterator[tuple[str, ...]]:
    """Settings of a small run, which the other tests of the session get back as they were."""
    before = {name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage")}
    yield SMALL
    for name, value in before.items():
        spark.conf.set(name, value or "")


@pytest.fixture(scope="module")
def folder(words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worked example's journal and what an audit of it left below out/."""
    folder = tmp_path_factory.mktemp("example")
    write_files(worked_example(), folder / "journal")
    period = ("--from", "1970-01-01", "--to", "1970-01-01T00:06:40")
    status = main(["run", "--journal", str(folder / "journal"), "--out", str(folder / "out"), "--csv", *period, *words])
    assert status == 1
    return folder


def table(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a result table, sorted; times in s."""
    rows = pyarrow.parquet.read_table(folder / "out" / "results" / name).to_pylist()
    return sorted((tuple(row[c] / SECOND if c in ("t1", "t2") else row[c] for c in columns) for row in rows), key=repr)


def test_broker_intervals(folder: Path) -> None:
    assert table(folder, "broker_intervals", "ns", "broker", "t1", "t2", "end_cause", "gap") == [
        ("n1", "broker-a", 1, 400, "open", None),
        ("n1", "broker-b", 2, 400, "open", None),
        ("n2", "broker-a", 1, 400, "open", None),
        ("n2", "broker-b", 2, 185, "expired", 123_000),
        ("n2", "broker-b", 302, 400, "open", None),
    ]


def test_key_windows(folder: Path) -> None:
    assert table(folder, "key_windows", "topic", "broker", "t1", "t2", "cause", "values") == [
        ("order_topic", "broker-b", 185, 302, "expired", [
            {"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6},
            {"ns": "n2", "present": False, "r": None, "w": None, "p": None},
        ]),
    ]  # fmt: skip


def test_impact(folder: Path) -> None:
    """Orphaned mean and max, twice mean and max: of 8 queues, for each size of group by each strategy."""
    found = table(folder, "impact", "c", "strategy", "queues", "orphaned_mean", "orphaned_max", "dup_mean", "dup_max")
    assert [(*row[:3], *map(pytest.approx, row[3:])) for row in found] == [
        (2, "averagely", 8, 3, 4, 1, 2),
        (2, "circle", 8, 2, 2, 0, 0),
        (3, "averagely", 8, 8 / 3, 4, 2 / 3, 1),
        (3, "circle", 8, 2, 3, 0, 0),
        (4, "averagely", 8, 20 / 7, 5, 6 / 7, 2),
        (4, "circle", 8, 2, 3, 0, 0),
    ]
    in_time = table(folder, "impact", "c", "strategy", "orphaned_qs_mean", "orphaned_qs_max")
    assert in_time[0] == (2, "averagely", 351, 468)


def test_imbalance(folder: Path) -> None:
    assert table(folder, "imbalance", "broker", "t1", "t2", "share", "fair", "tvd", "peak") == [
        ("broker-a", 185, 302, 0.75, 0.5, 0.25, 1.5),
        ("broker-b", 185, 302, 0.25, 0.5, 0.25, 1.5),
    ]


def test_brokers_and_departures(folder: Path) -> None:
    stats = table(folder, "broker_stats", "ns", "broker", "up_s", "availability", "failures", "mtbf_s", "gap_max")
    assert stats[3] == ("n2", "broker-b", 281, 0.7025, 1, 281, 30_000)
    assert [row[-1] for row in stats] == [30_000] * 4
    assert table(folder, "departures", "broker", "kind", "ns", "t1") == [("broker-b", "partition", ["n2"], 185)]


def test_the_summary_says_what_was_found(folder: Path) -> None:
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    assert (summary["verdict"], summary["exit_status"], summary["incomplete"]) == ("findings", 1, [])
    assert summary["findings"] == {
        "incidents": 1, "departures": 1, "flaps": 1, "killed": 0, "missing_topics": 0, "budgets": 1,
    }  # fmt: skip
    assert summary["observation"] == {"t0": 0, "t1": 400 * SECOND}
    figures = summary["figures"]
    assert (figures["name_servers"], figures["brokers"], figures["topics"]) == (2, 2, 1)


def test_the_page_and_csv_tables_are_there(folder: Path) -> None:
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "order_topic" in page
    (windows,) = (folder / "out" / "results-csv" / "key_windows").glob("*.csv")
    assert windows.read_text("utf-8").startswith("topic,broker,t1,t2,cause,")


def test_the_page_can_be_written_again(folder: Path, words: tuple[str, ...]) -> None:
    page = folder / "out" / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert main(["report", "--out", str(folder / "out"), *words]) == 0
    assert page.read_bytes() == before


def test_a_route_of_the_past_is_explained(
    folder: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", "order_topic", "--at", "1970-01-01T00:04", "--journal", str(folder / "journal"), *words]
    assert main(asked) == 0
    said = capsys.readouterr().out
    n1, n2 = said.split("n2:")
    assert f"broker-b: 4 read queues, 4 write queues, perm 6; 0 {B}" in n1
    assert "since 1970-01-01T00:00:02.000Z (register; boot 0, seq" in n1
    assert f"broker-a: 4 read queues, 4 write queues, perm 6; 0 {A}" in n2
    assert "broker-b" not in n2


def test_what_is_missing_is_never_reported_as_clean(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One name server that did nothing wrong, but for a line that does not parse in its journal."""
    journal = Journal(0)
    journal.register(1 * SECOND, Broker("broker-a", A), [topic("T")])
    (path,) = write_files({"n1": journal.records}, tmp_path / "journal")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"boot": 0, "seq"\n')
    assert main(["run", "--journal", str(tmp_path / "journal"), "--out", str(tmp_path / "out"), *words]) == 3
    said = capsys.readouterr().out
    assert "incomplete: 1 lines of n1 do not parse." in said
    assert "Nothing found in what is there." in said
    assert json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["verdict"] == "incomplete"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--from", "1970-01-02"], "nothing to look at"),
        (["--from", "1970-01-02", "--to", "1970-01-03"], "the journals have no record of that time"),
    ],
)
def test_a_time_without_records_is_wrong_usage(
    folder: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    copy = folder / "again"
    shutil.copytree(folder / "out", copy, dirs_exist_ok=True)
    assert main(["run", "--journal", str(folder / "journal"), "--out", str(copy), *more, *words]) == 2
    assert said in capsys.readouterr().err


def test_a_journal_that_is_not_there_is_wrong_usage(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--journal", str(tmp_path / "none"), "--out", str(tmp_path / "out"), *words]) == 2
    assert re.search(r"rocketns audit run: .*none", capsys.readouterr().err)

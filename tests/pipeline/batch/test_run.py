"""`rocketns audit run` from files to tables, page and exit status: one run over everything that can happen, and the
worked example, whose hand-computed results come out exactly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.reporting import counted, numbers_of
from rocketns.pipeline.contract.catalogue import BY_NAME, LISTED
from rocketns.pipeline.incidents.listing import incidents_of
from rocketns.pipeline.incidents.model import Harm, Incident, Symptom
from rocketns.pipeline.storage.folders import Hadoop, folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.batch.runs import Whole
from tests.pipeline.contract.tables_page import SUMMARY_KEYS
from tests.pipeline.journals import SECOND, Journals, Record, worked_example


def test_everything_that_can_happen(spark: SparkSession, whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a hole in the journal of the first name server, and enough was found in what is there: with kills,
    snapshots, two days, and a clock that is ahead. Incidents name records that are in the journal. The whole tables
    tell what the list tells where it has all rows."""
    summary = json.loads((whole.folder / "out" / "summary.json").read_text("utf-8"))
    assert set(summary) == set(SUMMARY_KEYS)
    assert (whole.outcome.exit_status, summary["exit_status"], summary["verdict"]) == (3, 3, "incomplete")
    assert whole.outcome.incomplete == summary["incomplete"]
    assert any("Records of n1" in sentence for sentence in summary["incomplete"])
    assert whole.outcome.findings == summary["findings"]
    assert min(summary["findings"][kind] for kind in ("divergences", "departures", "killed", "missing_topics")) > 0

    lines = (whole.folder / "out" / "incidents.jsonl").read_text("utf-8")
    assert {record["ev"] for record in named_records(lines)} >= {"down", "reg", "start", "stop", "tput", "tdel"}
    assert invented(lines, whole.journals) == []

    monkeypatch.setattr("rocketns.pipeline.storage.results.ROWS_COLLECTED_MAX", 1_000_000)
    results = Results(spark, folder_at(spark, whole.request.out), whole.tables.name)
    listed = incidents_of(results.tables(LISTED), *whole.observation)
    made = [one for one in listed if one.rows and one.kind is not Symptom.FLAP]  # of which the largest parts are told
    assert {len(one.rows) > 1 for one in made} == {True, False}
    assert any(one.harm.orphaned for one in made)
    bare = [replace(one, harm=Harm(one.harm.topics if len(one.rows) == 1 else 0)) for one in made]
    assert effects(counted(results, bare)) == effects(made)
    lost = Incident(Symptom.SILENT, 0, 1, going_on=True, ns=("n1",))
    assert counted(results, [lost]) == [lost], "no difference shows it, so it stays as it is"


def test_the_sql_of_the_catalogue_means_the_same_to_spark_and_to_sqlite(
    spark: SparkSession, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the first rows of a table are the same, whoever reads it."""
    monkeypatch.setattr("rocketns.pipeline.storage.results.ROWS_COLLECTED_MAX", 20)
    folders = folder_at(spark, whole.request.out), Hadoop(spark, whole.request.out)
    here, elsewhere = (Results(spark, folder, whole.tables.name) for folder in folders)
    assert here.tables(LISTED) == elsewhere.tables(LISTED)
    assert numbers_of(here) == numbers_of(elsewhere)


def effects(incidents: list[Incident]) -> list[tuple[int, int, int]]:
    return [(one.harm.topics, one.harm.orphaned, one.harm.twice) for one in incidents]


def place(folder: Path) -> Path:
    """The results of the run that counts."""
    return folder / "out" / str(json.loads((folder / "out" / "summary.json").read_text("utf-8"))["results"])


def table(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a result table, sorted; times in s."""
    rows = pyarrow.parquet.read_table(place(folder) / name).to_pylist()
    return sorted((tuple(row[c] / SECOND if c in ("t1", "t2") else row[c] for c in columns) for row in rows), key=repr)


def test_a_window_lasts_from_the_expiry_until_the_return(example: Path) -> None:
    assert table(example, "key_windows", "topic", "broker", "t1", "t2", "cause", "opened_by", "gap", "values") == [
        ("order_topic", "broker-b", 185, 302, "expired", "n2", 123_000, [
            {"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6},
            {"ns": "n2", "present": False, "r": None, "w": None, "p": None},
        ]),
    ]  # fmt: skip
    a, b = ({"broker": f"broker-{name}", "r": 4, "w": 4, "p": 6} for name in "ab")
    assert table(example, "topic_segments", "topic", "t1", "t2", "views") == [
        ("order_topic", 185, 302, [{"ns": "n1", "view": [a, b]}, {"ns": "n2", "view": [a]}]),
    ]  # fmt: skip


def test_impact(example: Path) -> None:
    """Mean and maximum of orphaned queues and of queues consumed twice, of 8, for each group size and strategy."""
    found = table(example, "impact", "c", "strategy", "queues", "orphaned_mean", "orphaned_max", "dup_mean", "dup_max")
    assert [(*row[:3], *map(pytest.approx, row[3:])) for row in found] == [
        (2, "averagely", 8, 3, 4, 1, 2),
        (2, "circle", 8, 2, 2, 0, 0),
        (3, "averagely", 8, 8 / 3, 4, 2 / 3, 1),
        (3, "circle", 8, 2, 3, 0, 0),
        (4, "averagely", 8, 20 / 7, 5, 6 / 7, 2),
        (4, "circle", 8, 2, 3, 0, 0),
    ]
    in_time = table(example, "impact", "c", "strategy", "orphaned_qs_mean", "orphaned_qs_max")
    assert in_time[0] == (2, "averagely", 351, 468)


def test_the_broker_that_one_name_server_lost_has_a_failure_and_a_departure(example: Path) -> None:
    stats = table(example, "broker_stats", "ns", "broker", "up_s", "availability", "failures", "mtbf_s", "gap_max")
    assert stats[3] == ("n2", "broker-b", 281, 281 / (281 + 117), 1, 281, 30_000)
    assert [row[-1] for row in stats] == [30_000] * 4
    more = table(example, "broker_stats", "ns", "broker", "mtbf_s", "graceful", "flaps", "gaps")
    assert (more[0], more[3]) == (("n1", "broker-a", None, 0, 0, 13), ("n2", "broker-b", 281, 0, 1, 2 + 3))
    gaps = [row[2:] for row in table(example, "broker_stats", "ns", "broker", "gap_p50", "gap_p95", "gap_p99")]
    assert gaps == [(30_000,) * 3] * 4
    of_topics = table(example, "topics", "topic", "kind", "served", "brokers", "queues", "skew")
    assert of_topics == [("order_topic", "user", 2, ["broker-a", "broker-b"], 8, 1.0)]
    read = table(example, "sources", "ns", "files", "corrupt", "lost", "offset_us", "clock")
    assert read == [("n1", 1, 0, 0, 0, "reference"), ("n2", 1, 0, 0, 0, "versions")]
    departures = table(
        example, "departures", "broker", "cluster", "kind", "ns", "t1", "t2", "bids", "stalled", "topics"
    )
    assert departures == [("broker-b", "c", "partition", ["n2"], 185, 185, [0], [], 1)]


def test_the_run_makes_every_table_of_the_catalogue(example: Path) -> None:
    made = {path.name for path in place(example).iterdir() if path.is_dir()}
    assert made == set(BY_NAME)


def test_the_summary_says_what_was_found(example: Path) -> None:
    summary = json.loads((example / "out" / "summary.json").read_text("utf-8"))
    assert (summary["verdict"], summary["exit_status"], summary["incomplete"]) == ("findings", 1, [])
    assert summary["findings"] == {
        "divergences": 1, "departures": 1, "unwritable": 0, "flaps": 1, "killed": 0, "missing_topics": 0,
    }  # fmt: skip
    assert summary["observation"] == {"t0": 0, "t1": 400 * SECOND}
    assert set(summary) == set(SUMMARY_KEYS)
    assert summary["headline"].startswith("No open incident. Worst of the past: broker-b missing at n2")
    assert summary["incidents"] == {
        "going_on": 0, "levels": {"severe": 0, "major": 1, "minor": 0}, "kinds": {"missing": 1},
    }  # fmt: skip
    figures = summary["figures"]
    assert (figures["name_servers"], figures["brokers"], figures["topics"]) == (2, 2, 1)


def test_the_pages_are_there(example: Path) -> None:
    page = (example / "out" / "report.html").read_text("utf-8")
    assert "order_topic" in page
    lines = (example / "out" / "incidents.jsonl").read_text("utf-8")
    assert invented(lines, worked_example()) == []
    told = json.loads(lines)
    assert (told["kind"], told["brokers"], told["ns"], told["since"]) == (
        "missing", ["broker-b"], ["n2"], "1970-01-01T00:03:05.000Z",
    )  # fmt: skip
    assert (told["topics"], told["queues"], told["orphaned"], told["records"][0]["cause"]) == (1, 4, 5, "expired")
    title = "broker-b missing at n2 for 1 min 57 s, from 00:03 on"
    assert (
        (example / "out" / "report.md").read_text("utf-8").startswith(f"# No open incident. Worst of the past: {title}")
    )


LAST = "last record"  # of a boot, whatever it is


def named_records(lines: str) -> list[Record]:
    """The records of every line of incidents.jsonl."""
    return [record for line in lines.splitlines() for record in json.loads(line)["records"]]


def invented(lines: str, journals: Journals) -> list[Record]:
    """The named records that no journal has."""
    return [record for record in named_records(lines) if not _is_there(record, journals)]


def _is_there(named: Record, journals: Journals) -> bool:
    boot = [record for record in journals[named["ns"]] if record["boot"] == named["boot"]]
    if named["ev"] == LAST:
        return bool(max(record["ts"] for record in boot) == named["ts"])
    return any(_fits(named, record) for record in boot if record["ts"] == named["ts"])


def _fits(named: Record, record: Record) -> bool:
    """The end of a snapshot names no broker, though it shows that one is gone."""
    of_broker = record["ev"] == "snap" or named["broker"] in ("", record.get("broker"))
    return record["ev"] == named["ev"] and of_broker and named["cause"] in ("", record.get("cause"))

"""`rocketns audit run` from files to tables, page and exit status; the hand-computed example comes out exactly."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.reporting import SUMMARY_KEYS, report_input
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.storage.events.openfiles import open_texts, tail_after
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results, current
from tests.pipeline.journals import SECOND, Broker, Journal, topic, worked_example, write_files

SMALL = ("--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.sql.codegen.wholeStage=false")
A, B = "10.0.0.1:10911", "10.0.0.2:10911"


class Odd(NamedTuple):
    """A run: where, its exit status, its output and its summary."""

    folder: Path
    status: int
    said: str
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def words(spark: SparkSession) -> Iterator[tuple[str, ...]]:
    """Settings of a small run. Afterwards the session has its former settings again."""
    before = {name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage")}
    yield SMALL
    for name, value in before.items():
        spark.conf.set(name, value or "")


@pytest.fixture(scope="module")
def folder(words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worked example's journal, and the output of its audit below out/."""
    folder = tmp_path_factory.mktemp("example")
    write_files(worked_example(), folder / "journal")
    period = ("--from", "1970-01-01", "--to", "1970-01-01T00:06:40")
    status = main(["run", "--journal", str(folder / "journal"), "--out", str(folder / "out"), "--csv", *period, *words])
    assert status == 1
    return folder


def place(folder: Path) -> Path:
    """The results of the run that counts."""
    return folder / "out" / str(json.loads((folder / "out" / "summary.json").read_text("utf-8"))["results"])


def table(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a result table, sorted; times in s."""
    rows = pyarrow.parquet.read_table(place(folder) / name).to_pylist()
    return sorted((tuple(row[c] / SECOND if c in ("t1", "t2") else row[c] for c in columns) for row in rows), key=repr)


def test_brokers_are_listed_from_their_registration_until_they_expire(folder: Path) -> None:
    assert table(folder, "broker_intervals", "ns", "broker", "t1", "t2", "end_cause", "gap") == [
        ("n1", "broker-a", 1, 400, "open", None),
        ("n1", "broker-b", 2, 400, "open", None),
        ("n2", "broker-a", 1, 400, "open", None),
        ("n2", "broker-b", 2, 185, "expired", 123_000),
        ("n2", "broker-b", 302, 400, "open", None),
    ]


def test_a_window_lasts_from_the_expiry_until_the_return(folder: Path) -> None:
    assert table(folder, "key_windows", "topic", "broker", "t1", "t2", "cause", "values") == [
        ("order_topic", "broker-b", 185, 302, "expired", [
            {"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6},
            {"ns": "n2", "present": False, "r": None, "w": None, "p": None},
        ]),
    ]  # fmt: skip


def test_impact(folder: Path) -> None:
    """Mean and maximum of orphaned queues and of queues consumed twice, of 8, for each group size and strategy."""
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


def test_the_broker_that_all_see_gets_more_than_its_share(folder: Path) -> None:
    assert table(folder, "imbalance", "broker", "t1", "t2", "share", "fair", "tvd", "peak") == [
        ("broker-a", 185, 302, 0.75, 0.5, 0.25, 1.5),
        ("broker-b", 185, 302, 0.25, 0.5, 0.25, 1.5),
    ]


def test_the_broker_that_one_name_server_lost_has_a_failure_and_a_departure(folder: Path) -> None:
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
    assert set(summary) == set(SUMMARY_KEYS)
    assert summary["headline"].startswith("No open incident. Worst of the past: broker-b was missing at n2")
    assert summary["incidents"] == {
        "going_on": 0, "levels": {"severe": 0, "major": 1, "minor": 0}, "kinds": {"missing": 1},
    }  # fmt: skip
    figures = summary["figures"]
    assert (figures["name_servers"], figures["brokers"], figures["topics"]) == (2, 2, 1)


def test_the_page_and_csv_tables_are_there(folder: Path) -> None:
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert "order_topic" in page
    (line,) = (folder / "out" / "incidents.jsonl").read_text("utf-8").splitlines()
    told = json.loads(line)
    assert (told["kind"], told["brokers"], told["ns"], told["since"]) == (
        "missing", ["broker-b"], ["n2"], "1970-01-01T00:03:05.000Z",
    )  # fmt: skip
    assert (told["topics"], told["queues"], told["orphaned"], told["records"][0]["cause"]) == (1, 4, 5, "expired")
    title = "broker-b was missing at n2 for 1 min 57 s, from 00:03 on"
    assert (
        (folder / "out" / "report.md").read_text("utf-8").startswith(f"# No open incident. Worst of the past: {title}")
    )
    (windows,) = (place(folder) / "csv" / "key_windows").glob("*.csv")
    assert windows.read_text("utf-8").startswith("topic,broker,t1,t2,cause,")


def test_the_page_can_be_written_again(folder: Path, words: tuple[str, ...]) -> None:
    page = folder / "out" / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert main(["report", "--out", str(folder / "out"), *words]) == 0
    assert page.read_bytes() == before


@pytest.mark.parametrize("version", [1, 3, None])
def test_results_of_a_version_that_this_audit_does_not_know_are_refused(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], version: int | None
) -> None:
    told = {"run": "20260101T000000-00000000", "version": version}
    (tmp_path / "summary.json").write_text(json.dumps(told), "utf-8")
    assert main(["report", "--out", str(tmp_path), *words]) == 2
    said = capsys.readouterr().err
    assert f"rocketns audit report: {tmp_path}/summary.json has version {version}, and this rocketns knows 2." in said
    assert "Start 'rocketns audit run' again" in said


def test_a_route_of_the_past_is_explained(
    folder: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explain", "order_topic", "--at", "1970-01-01T00:04", "--journal", str(folder / "journal"), *words]
    assert main(asked) == 0
    said = capsys.readouterr().out
    n1, n2 = said.split("\nn2:")
    assert f"broker-b: 4 read queues, 4 write queues, perm 6; 0 {B}" in n1
    assert "since 1970-01-01T00:00:02.000Z (register; boot 0, seq" in n1
    assert f"broker-a: 4 read queues, 4 write queues, perm 6; 0 {A}" in n2
    assert "broker-b" not in n2


def test_the_page_follows_a_topic_of_each_divergence(folder: Path, spark: SparkSession) -> None:
    """It needs what the name servers showed after the first moment of a window, to say which of them was wrong."""
    results = Results.published(spark, folder_at(spark, str(folder / "out")))
    table = report_input(results, current(folder_at(spark, str(folder / "out")))).tables["topic_intervals"]
    assert sorted((row["ns"], row["broker"], row["t1"] / SECOND, row["t2"] / SECOND) for row in table.rows) == [
        ("n1", "broker-b", 2, 400),
        ("n2", "broker-b", 2, 185),
        ("n2", "broker-b", 302, 400),
    ]


def test_the_commands_of_the_page_answer_in_any_working_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They name the folder of the run too: it has the clocks, and records that the journal has no more."""
    monkeypatch.chdir(tmp_path)
    lines = (folder / "out" / "incidents.jsonl").read_text("utf-8").splitlines()
    for asked in {json.loads(line)["command"] for line in lines}:
        words = shlex.split(asked)
        assert words[:5] == ["rocketns", "audit", "explain", "--journal", str(folder / "journal")]
        assert main(words[2:]) == 0
        assert "order_topic at 1970-01-01T00:04" in capsys.readouterr().out
        assert f"--out {folder / 'out'} " in asked


@pytest.fixture(scope="module")
def odd(words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Odd:
    """A run on one healthy name server. Its journal has a line that does not parse, an open file, and a file of another
    version."""
    folder = tmp_path_factory.mktemp("odd")
    journal = Journal(0)
    journal.register(1 * SECOND, Broker("broker-a", A), [topic("T")])
    journal.open_file(2 * SECOND)
    journal.heartbeat(31 * SECOND, Broker("broker-a", A))
    first, second = write_files({"n1": journal.records}, folder / "journal")
    with first.open("a", encoding="utf-8") as file:
        file.write('{"boot": 0, "seq"\n')
    with second.open("a", encoding="utf-8") as file:
        file.write('{"boot": 0, "seq": 6, "ts": 32')
    second.rename(second.with_name(".open-" + second.stem))
    foreign = folder / "journal" / "v=2" / "dt=2026-01-01" / "ns=n1" / "5-000001.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("{}\n", "utf-8")
    said = StringIO()
    with redirect_stdout(said):
        status = main(["run", "--journal", str(folder / "journal"), "--out", str(folder / "out"), *words])
    return Odd(folder, status, said.getvalue(), json.loads((folder / "out" / "summary.json").read_text("utf-8")))


def test_incomplete_input_is_never_reported_as_clean(odd: Odd) -> None:
    assert odd.status == 3
    assert "incomplete: 1 line of n1 does not parse." in odd.said
    assert "Nothing found in what is there." in odd.said
    assert odd.summary["verdict"] == "incomplete"


def test_a_file_of_another_version_makes_the_run_incomplete_and_does_not_end_it(odd: Odd) -> None:
    told = "1 file of version 2 of the journal was not read: this audit reads version 1."
    assert f"incomplete: {told}" in odd.said
    assert told in odd.summary["incomplete"]


def test_a_file_that_is_still_being_written_is_read_up_to_its_last_whole_line(odd: Odd) -> None:
    (source,) = pyarrow.parquet.read_table(odd.folder / "out" / odd.summary["results"] / "sources").to_pylist()
    assert (source["files"], source["events"], source["last"]) == (2, 6, 31 * SECOND)


def test_a_file_that_was_closed_takes_the_place_of_what_was_read_of_it(odd: Odd, spark: SparkSession) -> None:
    """The open file is read before the ingest, which then finds it closed."""
    journal, out = str(odd.folder / "journal"), str(odd.folder / "again")
    texts = open_texts(spark, [journal])
    path = Path(texts[0].file.path.removeprefix("file:"))
    closed = path.with_name(path.name.removeprefix(".open-") + ".jsonl")
    path.rename(closed)
    ingest(spark, journal, out)
    closed.rename(path)
    assert tail_after(spark, out, texts).events.count() == 0
    assert read_events(spark, out).count() == 6


def test_another_journal_is_wrong_usage(
    odd: Odd, folder: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--journal", str(folder / "journal"), "--out", str(odd.folder / "out"), *words]) == 2
    assert "belongs to the journal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--from", "1970-01-02"], "the observation is empty"),
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

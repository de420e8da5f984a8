"""`rocketns audit stream` over arriving files: it goes on after a restart, and a replay changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.stream.follow import Following, follow
from rocketns.pipeline.stream.step import Limits
from tests.pipeline.journals import DAY_START, SECOND, Broker, Journal, Record, topic, worked_example, write_files
from tests.pipeline.parts import as_files, cut_at

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


def followed(spark: SparkSession, folder: Path, clocks: str | int | None = None) -> list[dict[str, Any]]:
    """Process the present files like a restarted process; returns every line so far."""
    journal, out = str(folder / "journal"), str(folder / "out")
    following = Following(journal, out, None, None, 1_000_000, Limits(), once=True, clocks=clocks)
    follow(spark, following, lambda _: None)
    return [json.loads(line) for line in (folder / "out" / "alerts.jsonl").read_text("utf-8").splitlines()]


def test_alerts_are_written_once_over_restarts_crashes_and_replays(spark: SparkSession, tmp_path: Path) -> None:
    early, late = cut_at(as_files(worked_example(), [220]), [220, 400])
    write_files(early, tmp_path / "journal")
    opened = followed(spark, tmp_path)
    assert [(line["event"], line["kind"], line["cause"], line["batch"]) for line in opened] == [
        ("open", "partition", "expired", 0), ("open", "divergence", "expired", 0),
    ]  # fmt: skip
    assert followed(spark, tmp_path) == opened
    # a crash before all that a batch remembers was written
    (tmp_path / "out" / "checkpoint" / "memory" / "batch=0000000000" / "plain.json").rename(tmp_path / "unsealed")
    assert followed(spark, tmp_path) == opened

    write_files(late, tmp_path / "journal")
    closed = followed(spark, tmp_path)
    assert closed[:2] == opened
    assert {(line["event"], line["alert"]) for line in closed[2:]} == {("close", line["alert"]) for line in opened}

    file = tmp_path / "out" / "alerts.jsonl"
    before = file.read_bytes()
    file.write_bytes(before[: before.index(b"\n", before.index(b'"batch": 1')) - 9])  # a crash while it was written
    assert followed(spark, tmp_path) == closed
    assert file.read_bytes() == before


def test_a_file_that_is_still_being_written_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    """Of both name servers only open files are there, which grow, with half a line at their end."""
    early, late = cut_at(worked_example(), [220, 400])
    opened = {path: path.with_name(".open-" + path.stem) for path in write_files(early, tmp_path / "journal")}
    texts = {path: path.read_text("utf-8") for path in opened}
    for path, name in opened.items():
        path.rename(name)
        name.write_text(texts[path] + '{"boot": 0, "se', "utf-8")
    kinds = [(line["event"], line["kind"]) for line in followed(spark, tmp_path)]
    assert kinds == [("open", "partition"), ("open", "divergence")]
    for path, name in opened.items():
        rest = "".join(json.dumps(record) + "\n" for record in late[path.parent.name.removeprefix("ns=")])
        name.write_text(texts[path] + rest, "utf-8")
        name.rename(path)
    assert [(line["event"], line["kind"]) for line in followed(spark, tmp_path)[2:]] == [
        ("close", "partition"), ("close", "divergence"),
    ]  # fmt: skip


DAYS, DAYS_A_BATCH = 30, 5
DEAF_DAYS = range(0, DAYS, 3)


def test_a_month_leaves_no_more_behind_than_its_first_days(spark: SparkSession, tmp_path: Path) -> None:
    """On each third day n2 does not hear the broker for two hours. One batch has the whole time, and still reports
    it."""
    kept = []
    for day in range(0, DAYS, DAYS_A_BATCH):
        for journal in a_month():
            write_files({journal.ns: of_days(journal, day, day + DAYS_A_BATCH)}, tmp_path / "journal")
        lines = followed(spark, tmp_path)
        files = [path for path in (tmp_path / "out" / "checkpoint").rglob("*.*") if path.suffix != ".crc"]
        kept.append((len(files), sum(path.stat().st_size for path in files)))
    for sizes in zip(*kept, strict=True):
        assert max(sizes[-2:]) <= 1.1 * max(sizes[:3])
    told = [(line["event"], line["since"]) for line in lines if line["kind"] == "divergence"]
    since = [exact_text(DAY_START + (day * 24 + 10) * HOUR + 2 * MINUTE) for day in DEAF_DAYS]
    assert told == [(event, begin) for begin in since for event in ("open", "close")]


def a_month() -> Iterator[Journal]:
    """Two journals with a file a day and a heartbeat each half an hour."""
    broker = Broker("broker-a", "10.0.0.1:10911")
    for ns in ("n1", "n2"):
        journal = Journal(DAY_START, ns)
        for number in range(1, DAYS * 48):
            day, half_hour = divmod(number, 48)
            now = DAY_START + number * 30 * MINUTE
            if half_hour == 0:
                journal.open_file(now)
            if ns == "n1" or day not in DEAF_DAYS or not 20 <= half_hour < 24:
                journal.register(now, broker, [topic("T")])
            elif half_hour == 20:
                journal.down(now + 2 * MINUTE, broker, "expired")
        yield journal


def of_days(journal: Journal, first: int, end: int) -> list[Record]:
    return [record for record in journal.records if first <= (record["ts"] - DAY_START) // (24 * HOUR) < end]


def test_a_signal_ends_it_after_the_batch_it_is_in(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    early, _ = cut_at(as_files(worked_example(), [220]), [220, 400])
    write_files(early, tmp_path / "journal")

    def stop_at_the_first_alert(line: str) -> None:
        if line.startswith("open partition"):
            os.kill(os.getpid(), signal.SIGTERM)

    journal, out = str(tmp_path / "journal"), str(tmp_path / "out")
    following = Following(journal, out, None, None, 1_000_000, Limits(), once=False)
    assert follow(spark, following, stop_at_the_first_alert) == 1
    assert "Traceback" not in capfd.readouterr().err


def test_lines_that_do_not_parse_are_alerted(spark: SparkSession, tmp_path: Path) -> None:
    (path, *_) = write_files(worked_example(), tmp_path / "journal")
    with path.open("a") as file:
        file.write('{"boot": 0, "seq"\n')
    told = [line for line in followed(spark, tmp_path) if line["kind"] == "incomplete"]
    opened, closed = told
    assert (opened["event"], opened["ns"], opened["corrupt"]) == ("open", "n1", 1)
    assert (closed["event"], closed["alert"]) == ("close", opened["alert"])


def test_differences_that_known_clocks_or_their_bound_explain_are_no_alert(spark: SparkSession, tmp_path: Path) -> None:
    """The clock of n2 is 20 s ahead. Both hear of each change at once. Clocks are those of a run, or within a bound."""
    broker, ahead = Broker("broker-a", "10.0.0.1:10911"), {"n1": 0, "n2": 20 * SECOND}
    for ns, offset in ahead.items():
        journal = Journal(DAY_START + offset, ns)
        for beat in range(1, 13):
            queues = 8 if beat >= 6 else 4
            journal.register(DAY_START + beat * 30 * SECOND + offset, broker, [topic("T", queues)])
        write_files({ns: journal.records}, tmp_path / "journal")
    write_run(tmp_path / "run", [["2026-01-01", ns, by, 9, 0, "versions", "n1", 0] for ns, by in ahead.items()])
    assert "divergence" in {line["kind"] for line in followed(spark, tmp_path, 10 * SECOND)}
    shutil.rmtree(tmp_path / "out")
    assert "divergence" not in {line["kind"] for line in followed(spark, tmp_path, 30 * SECOND)}
    shutil.rmtree(tmp_path / "out")
    assert followed(spark, tmp_path, str(tmp_path / "run")) == []


@pytest.mark.parametrize(("late", "kinds"), [(6, set()), (30, {"divergence"})], ids=["at once", "12 min later"])
def test_a_difference_that_a_clock_explains_is_no_alert(
    spark: SparkSession, tmp_path: Path, late: int, kinds: set[str]
) -> None:
    """The clock of n2 is three heartbeats ahead, which heartbeats do not show. It hears of the change with beat
    ``late``."""
    broker, ahead = Broker("broker-a", "10.0.0.1:10911"), {"n1": 0, "n2": 90 * SECOND}
    for ns, offset in ahead.items():
        journal, changed = Journal(DAY_START + offset, ns), 6 if ns == "n1" else late
        for beat in range(1, 41):
            at = DAY_START + beat * 30 * SECOND + offset
            journal.register(at, broker, [topic("T", 8 if beat >= changed else 4)])
        write_files({ns: journal.records}, tmp_path / "journal")
    run = tmp_path / "run"
    write_run(run, [
        ["2026-01-01", "n1", 0, 0, 0, "reference", "n1", 0],
        ["2026-01-01", "n2", 0, 9, 0, "heartbeats", "n1", 30 * SECOND],
    ])  # fmt: skip
    said: list[str] = []
    following = Following(
        str(tmp_path / "journal"), str(tmp_path / "out"), None, None, 1_000_000, Limits(), once=True, clocks=str(run)
    )
    follow(spark, following, said.append)
    lines = (tmp_path / "out" / "alerts.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["kind"] for line in lines} == kinds
    assert "the clock of n2 counts as +0 s off (known up to a multiple of 30 s)" in said


def write_run(folder: Path, clocks: list[list[object]]) -> None:
    """A run of which only rows of CLOCK_DAYS are there."""
    rows = [dict(zip(CLOCK_DAYS.names, row, strict=True)) for row in clocks]
    (folder / "results/r/clock_days").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "results/r/clock_days/part.parquet")
    (folder / "summary.json").write_text('{"run": "r"}')


def test_clocks_need_a_run(spark: SparkSession, tmp_path: Path) -> None:
    write_files(worked_example(), tmp_path / "journal")
    with pytest.raises(BadInput, match="has no results of an earlier run"):
        followed(spark, tmp_path, str(tmp_path))


def test_a_journal_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--journal .* does not exist"):
        followed(spark, tmp_path)

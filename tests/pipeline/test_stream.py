"""`rocketns audit stream` over arriving files: it goes on after a restart, and a replay changes nothing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.stream.follow import Following, follow
from rocketns.pipeline.stream.step import Limits
from tests.pipeline.journals import worked_example, write_files
from tests.pipeline.parts import as_files, cut_at


def followed(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    """Work through what is there, as a process that was started anew would; every line so far."""
    journal, out = str(folder / "journal"), str(folder / "out")
    follow(spark, Following(journal, out, None, None, 1_000_000, Limits(), once=True), lambda _: None)
    return [json.loads(line) for line in (folder / "out" / "alerts.jsonl").read_text("utf-8").splitlines()]


def test_alerts_are_written_once_over_restarts_and_replays(spark: SparkSession, tmp_path: Path) -> None:
    early, late = cut_at(as_files(worked_example(), [220]), [220, 400])
    write_files(early, tmp_path / "journal")
    opened = followed(spark, tmp_path)
    assert [(line["event"], line["kind"], line["cause"], line["batch"]) for line in opened] == [
        ("open", "partition", "expired", 0), ("open", "divergence", "expired", 0),
    ]  # fmt: skip
    assert followed(spark, tmp_path) == opened

    write_files(late, tmp_path / "journal")
    closed = followed(spark, tmp_path)
    assert closed[:2] == opened
    assert {(line["event"], line["alert"]) for line in closed[2:]} == {("close", line["alert"]) for line in opened}

    file = tmp_path / "out" / "alerts.jsonl"
    before = file.read_bytes()
    commits = tmp_path / "out" / "checkpoint" / "query" / "commits"
    for name in ("1", ".1.crc"):
        (commits / name).unlink()
    assert followed(spark, tmp_path) == closed
    assert file.read_bytes() == before
    assert (commits / "1").exists()


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
    assert [path.name for path in (tmp_path / "out/checkpoint/query/commits").glob("[0-9]*")] == ["0"]
    assert "Traceback" not in capfd.readouterr().err


def test_lines_that_do_not_parse_are_alerted(spark: SparkSession, tmp_path: Path) -> None:
    (path, *_) = write_files(worked_example(), tmp_path / "journal")
    with path.open("a") as file:
        file.write('{"boot": 0, "seq"\n')
    told = [line for line in followed(spark, tmp_path) if line["kind"] == "incomplete"]
    opened, closed = told
    assert (opened["event"], opened["ns"], opened["corrupt"]) == ("open", "n1", 1)
    assert (closed["event"], closed["alert"]) == ("close", opened["alert"])


def test_a_journal_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--journal .* does not exist"):
        followed(spark, tmp_path)

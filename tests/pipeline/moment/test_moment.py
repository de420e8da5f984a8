"""`explain` without Spark: which lines count as records, and when it can do without."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rocketns.journal.reading.lines import records_of
from rocketns.pipeline.cli.spark import PLACES_ELSEWHERE, is_here
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import clocks_of

GOOD = {"boot": 1, "seq": 2, "ts": 3, "ev": "tput", "broker": "b", "topics": [{"t": "T", "r": 4}], "new": {}}


@pytest.mark.parametrize(
    "line",
    [
        b'{"boot":1,"seq":2', b"[]", b"7", b"\xff", {"seq": None}, {"ts": "3"}, {"seq": 2.5}, {"boot": True},
        {"topics": {"t": "T"}}, {"topics": ["T"]}, {"topics": [{"t": "T", "r": "4"}]}, {"bid": 2**31},
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_left_out(line: object) -> None:
    wrong = line if isinstance(line, bytes) else json.dumps(GOOD | line).encode()  # type: ignore[operator]
    good = json.dumps(GOOD).encode()
    found = list(records_of(good + b"\n" + wrong + b"\n" + good, "n", "day"))
    assert found == [{**GOOD, "ns": "n", "dt": "day"}] * 2


@pytest.mark.parametrize(
    ("path", "master", "conf", "here"),
    [
        ("/journal", None, [], True), ("file:///journal", None, [], True), ("s3a://bucket/journal", None, [], False),
        ("/journal", "spark://spark:7077", [], False), ("/journal", None, [("spark.hadoop.fs.defaultFS", "")], False),
    ],
)  # fmt: skip
def test_spark_starts_only_where_a_path_may_be_elsewhere(
    monkeypatch: pytest.MonkeyPatch, path: str, master: str | None, conf: list[tuple[str, str]], *, here: bool
) -> None:
    for name in PLACES_ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    assert is_here(Namespace(master=master, conf=conf), path, None) is here
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert not is_here(Namespace(master=master, conf=conf), path, None)


def test_the_clocks_of_a_run_are_read_without_spark(tmp_path: Path) -> None:
    told = [["2026-01-02", "n1", 7, 9, 0, "versions", "n2", 0], ["2026-01-01", "n1", 5, 9, 0, "versions", "n2", 0]]
    rows = [dict(zip(CLOCK_DAYS.names, row, strict=True)) for row in told]
    (tmp_path / "results/r/clock_days").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "results/r/clock_days/part.parquet")
    (tmp_path / "summary.json").write_text('{"run": "r"}')
    assert clocks_of(None, folder_at(None, str(tmp_path))) == rows[::-1]

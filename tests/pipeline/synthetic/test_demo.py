"""`rocketns audit demo`: its record is that of the generator, and a run over it finds what is in it."""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.cli.demo import demo
from tests.pipeline.synthetic.demo import RECORD, made


def test_the_record_is_current() -> None:
    assert contents(RECORD.read_bytes()) == contents(made()), "python -m tests.pipeline.synthetic.demo"


def contents(record: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(record)) as files:
        return {name: files.read(name) for name in files.namelist()}


@pytest.mark.slow
def test_the_demo_finds_each_recorded_incident_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    lines, right = demo(spark, str(tmp_path), lambda _text: None)
    assert right, "\n".join(lines)
    assert demo(spark, str(tmp_path), lambda _text: None)[1], "again in the same folder"

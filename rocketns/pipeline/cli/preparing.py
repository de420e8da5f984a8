"""`rocketns audit prepare`: audits a small synthetic fleet, and has Java keep the classes that it loaded."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from rocketns.pipeline.cli.class_archive import archive_path, options_to_make
from rocketns.pipeline.cli.demo import demo
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.cli.spark import check_java, is_submitted, session
from rocketns.pipeline.contract.errors import BadInput

EVENTS = 20_000
WRITING_S_MAX = 600


def prepare(options: argparse.Namespace, say: Progress) -> Path:
    """The archive. An earlier one is replaced when the new one is whole. BadInput if Java cannot write one."""
    if is_submitted():
        raise BadInput("spark-submit started Java before this command: start it as 'rocketns audit prepare'")
    archive = archive_path(check_java())
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder) / archive.name
        spark = session(options, say, short=True, java=options_to_make(made))
        demo(spark, str(Path(folder) / "demo"), EVENTS, 1, say)
        say("Java writes the archive")
        _end_java(spark)
        if not made.is_file():
            raise BadInput("this Java wrote no archive of its classes: it has no class data sharing")
        made.replace(archive)
    return archive


def _end_java(spark: SparkSession) -> None:
    """Java ends, and writes the archive, when its standard input is closed."""
    process = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    process.stdin.close()
    process.wait(WRITING_S_MAX)

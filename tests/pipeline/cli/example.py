"""The audit of the worked example by the command line, which several tests look at."""

from __future__ import annotations

from pathlib import Path

from rocketns.pipeline.cli.audit import main
from tests.pipeline.journals import worked_example, write_files

FINDINGS = 1
PERIOD = ("--from", "1970-01-01", "--to", "1970-01-01T00:06:40")
# The command line has more partitions, and sets those of a session that is there.
SMALL = ("--conf", "spark.sql.shuffle.partitions=2")


def audited_example(folder: Path) -> Path:
    """The folder: its journal, and the output of its audit below out/."""
    write_files(worked_example(), folder / "journal")
    places = ("--journal", str(folder / "journal"), "--out", str(folder / "out"))
    assert main(["run", *places, "--csv", *PERIOD, *SMALL]) == FINDINGS
    return folder

"""Runs `rocketns audit run` and reads its result tables.

As a program: several command lines of `rocketns` in one process, so that Java starts and compiles once. On standard
input a list of them, in JSON; on standard output for each its exit status and what it printed.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from rocketns.__main__ import main

AUDIT_TIMEOUT_S = 1200
SMALL = ("--master", "local[2]", "--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2")

Row = dict[str, Any]


class Audit(NamedTuple):
    """``said`` is what it printed; ``summary`` is summary.json."""

    status: int
    said: str
    summary: Row
    out: Path

    def rows(self, table: str) -> list[Row]:
        """A result table."""
        from pyarrow import parquet  # imported here, because the extra may be missing

        return list(parquet.read_table(self.out / self.summary["results"] / table).to_pylist())


def audited(*journals: tuple[Path, Path]) -> list[Audit]:
    """Audit the journals of all name servers below each first folder as an operator would, into the second one."""
    commands = [["audit", "run", "--journal", str(journal), "--out", str(out), "--groups", "2", *SMALL]
                for journal, out in journals]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "interop.audit.audited"], input=json.dumps(commands), capture_output=True,
        text=True, timeout=AUDIT_TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = []
    for (status, said), (_, out) in zip(json.loads(done.stdout), journals, strict=True):
        assert (out / "summary.json").exists(), said
        found.append(Audit(status, said, json.loads((out / "summary.json").read_text("utf-8")), out))
    return found


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit status and output of one command line."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main(arguments)
    return status, said.getvalue()


if __name__ == "__main__":
    json.dump([run(arguments) for arguments in json.load(sys.stdin)], sys.stdout)

"""Runs `rocketns audit run` and reads its result tables."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

AUDIT_TIMEOUT_S = 1200
SMALL = ("--master", "local[2]", "--conf", "spark.driver.memory=1g", "--conf", "spark.sql.shuffle.partitions=2")
NEEDED = ("pyspark", "pyarrow", "jinja2", "matplotlib")

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


def missing() -> list[str]:
    """The missing packages of the extra ``spark``."""
    return [name for name in NEEDED if find_spec(name) is None]


def audited(*journals: tuple[Path, Path]) -> list[Audit]:
    """Audit the journals of all name servers below each first folder as an operator would, into the second one."""
    commands = [["audit", "run", "--journal", str(journal), "--out", str(out), "--groups", "2", *SMALL]
                for journal, out in journals]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "interop.audit.in_one_process"], input=json.dumps(commands), capture_output=True,
        text=True, timeout=AUDIT_TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [
        audit_of(status, said, out) for (status, said), (_, out) in zip(json.loads(done.stdout), journals, strict=True)
    ]


def audit_of(status: int, said: str, out: Path) -> Audit:
    """The audit that wrote to this folder."""
    assert (out / "summary.json").exists(), said
    return Audit(status, said, json.loads((out / "summary.json").read_text("utf-8")), out)

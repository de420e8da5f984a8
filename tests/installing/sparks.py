"""``python -m tests.installing.sparks VERSION VERSION …``: the audit with these versions of Spark, each in an
environment of its own below build/spark.

Each audits the demo's journal, which has faults that it must find and nothing else, and streams it. Then the rows of
all tables and the alerts are held against those of the first version. Fails if anything differs. pip downloads about
450 MB for each version.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path

from tests.check.source import ROOT
from tests.pipeline.tables import sorted_lines, tables_in

PLACE = ROOT / "build" / "spark"
Found = Mapping[str, list[str]]


def main() -> int:
    """1 if a version finds something else than the first one, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.installing.sparks", description=__doc__)
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="of pyspark, such as 4.0.0")
    options = parser.parse_args()
    first: Found = {}
    differing = 0
    for version in options.versions:
        found = audited(version)
        first = first or found
        unlike = [name for name in sorted(first.keys() | found.keys()) if first.get(name) != found.get(name)]
        differing += bool(unlike)
        print(f"  {len(found)} tables with {sum(map(len, found.values())):,} rows;", told(unlike), flush=True)
    return int(differing > 0)


def told(unlike: list[str]) -> str:
    """The tables that differ, in words."""
    return f"these differ from the first version: {', '.join(unlike)}" if unlike else "none differs from the first"


def audited(version: str) -> Found:
    """The rows of each table that this version finds, and its alerts."""
    python, out, alerts = environment(version), PLACE / version / "demo", PLACE / version / "alerts"
    for earlier in (out, alerts):
        shutil.rmtree(earlier, ignore_errors=True)
    print(f"Spark {version}", flush=True)
    output = called(python, "demo", "--out", str(out), version=version)
    print(f"  {output.splitlines()[-1]}", flush=True)
    called(python, "stream", "--journal", str(out / "journal"), "--out", str(alerts), "--once", version=version)
    return {**tables(out), "alerts": alerts_of(alerts)}


def environment(version: str) -> Path:
    """The Python of an environment with this pyspark and what else the audit needs, made when first used."""
    folder = PLACE / version / "venv"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", "--no-compile", *needed(version)]
        subprocess.run(install, check=True)
        done.touch()
    return python


def needed(version: str) -> list[str]:
    """The requirements of rocketns with the extra ``spark``, and this version of pyspark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    return [*[name for name in names if not name.startswith("pyspark")], f"pyspark=={version}"]


def called(python: Path, *words: str, version: str) -> str:
    """The output of ``rocketns audit`` of this checkout; AssertionError if it fails, or another Spark answers."""
    result = subprocess.run(
        [str(python), "-m", "rocketns", "audit", *words],
        cwd=ROOT, env=os.environ | {"ROCKETNS_AUDIT_TRACE": "1"}, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-6000:]
    assert f"Spark {version} on" in result.stdout, result.stdout[-6000:]
    return result.stdout


def tables(out: Path) -> dict[str, list[str]]:
    """The rows of each result table."""
    return tables_in(out / "results" / json.loads((out / "summary.json").read_text())["run"])


def alerts_of(out: Path) -> list[str]:
    """The lines of alerts."""
    return sorted_lines(json.loads(line) for line in (out / "alerts.jsonl").read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())

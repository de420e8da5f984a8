"""`rocketns audit demo`: a recorded journal with an incident of each kind → its audit → the incidents that are in it.

tests/pipeline/synthetic/demo.py made the record.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from typing import Any
from zipfile import ZipFile

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.incidents.model import Symptom
from rocketns.pipeline.saying import Say, _
from rocketns.pipeline.storage.results import EVENTS_FOLDER, LINES

OUTAGES = (Symptom.RESTARTED, Symptom.KILLED)
# The recorded journal, and which incidents are in it, as ``named``.
RECORD, EXPECTED, JOURNAL = "demo.zip", "incidents.json", "journal"


def demo(spark: SparkSession, out: str, say: Say) -> tuple[list[str], bool]:
    """Everything below ``out``: the journal and the report. Lines for standard output, and whether every incident was
    found, and no other. BadInput if the folder holds something else."""
    folder = Path(out)
    _make_room(folder)
    with ZipFile(io.BytesIO(files(__package__).joinpath(RECORD).read_bytes())) as record:
        record.extractall(folder)
    outcome = audit(spark, Request(str(folder / JOURNAL), out), say)
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    found = [json.loads(line) for line in (folder / LINES).read_text("utf-8").splitlines()]
    shown = sorted(map(named, found))
    if shown == sorted(expected):
        said = _("All %(n)s recorded incidents were found as they are, and nothing else.") % {"n": len(expected)}
        return [*outcome.lines, "", said], True
    missed = [f"missed: {one}" for one in expected if one not in shown]
    invented = [f"invented: {one}" for one in shown if one not in expected]
    return [*outcome.lines, "", *missed, *invented], False


def named(incident: Mapping[str, Any]) -> list[Any]:
    """[kind, brokers, name servers] of a line of incidents.jsonl; of an outage without the brokers that had to register
    again."""
    return [incident["kind"], [] if incident["kind"] in OUTAGES else incident["brokers"], incident["ns"]]


def _make_room(folder: Path) -> None:
    """Remove an earlier demo's journal; refuse a folder that holds something else."""
    if not folder.exists():
        folder.mkdir(parents=True)
    elif any(folder.iterdir()) and not (folder / EXPECTED).is_file():
        raise BadInput(_("--out %(folder)s holds something else: name an empty or absent folder") % {"folder": folder})
    for name in (JOURNAL, EVENTS_FOLDER):
        rmtree(folder / name, ignore_errors=True)

"""The journal of `rocketns audit demo`: three name servers and eight brokers, with an incident of each kind.

``python -m tests.pipeline.synthetic.demo`` writes it again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from rocketns.pipeline.cli import demo
from tests.pipeline.synthetic.cards_compared import ASKED_FOR, KINDS, OF_NAME_SERVER
from tests.pipeline.synthetic.make import Truth, make_fleet
from tests.pipeline.synthetic.scenario.spec import NO_FAULTS, FleetSpec

RECORD = Path(demo.__file__).with_name(demo.RECORD)
SPEC = FleetSpec(
    topics=16, seconds=8 * 3600, groups=1, clock_spread_ms=0, seed=2,
    faults=NO_FAULTS._replace(
        partitions=1, flaps=1, crashes=1, silent_deaths=1, restarts=1, kills=1, lost_changes=1, typos=1,
        changes=4,
    ),
)  # fmt: skip


def made() -> bytes:
    """The record. The same code makes the same bytes."""
    with TemporaryDirectory() as folder:
        truth = make_fleet(SPEC, Path(folder))
        files = {
            f"{demo.JOURNAL}/{path.relative_to(folder)}": path.read_bytes() for path in Path(folder).rglob("*.jsonl")
        }
    files[demo.EXPECTED] = json.dumps(expected(truth), indent=1).encode()
    written = io.BytesIO()
    with ZipFile(written, "w") as record:
        for name in sorted(files):
            entry = ZipInfo(name)
            entry.compress_type = ZIP_DEFLATED
            record.writestr(entry, files[name], compresslevel=9)
    return written.getvalue()


def expected(truth: Truth) -> list[list[Any]]:
    """As ``demo.named`` of each incident."""
    everyone = [server["ns"] for server in truth["name_servers"]]
    found = [_incident(fault, everyone) for fault in truth["faults"] if fault["kind"] in KINDS]
    return sorted([*found, *[[ASKED_FOR, [], everyone] for _ in truth["missing"]]])


def _incident(fault: Mapping[str, Any], everyone: list[str]) -> list[Any]:
    brokers = [] if fault["kind"] in OF_NAME_SERVER else fault["brokers"]
    return [KINDS[fault["kind"]], brokers, everyone if fault["ns"] is None else [fault["ns"]]]


if __name__ == "__main__":
    RECORD.write_bytes(made())

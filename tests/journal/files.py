"""The journal's files as a test sees them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from interop.harness.servers import RocketnsServer
from rocketns.journal.segments import OPEN_PREFIX
from tests.journal.replay import Record, parsed


def closed_files(root: Path, ns: str = "*") -> list[Path]:
    """In the order of their day, boot and number."""
    return sorted(root.glob(f"v=1/dt=*/ns={ns}/*.jsonl"))


def open_files(root: Path) -> list[Path]:
    return sorted(root.glob(f"v=1/dt=*/ns=*/{OPEN_PREFIX}*"))


def contents(paths: list[Path]) -> Iterator[bytes]:
    """Without those of files that were closed meanwhile, and so have another name."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield path.read_bytes()


def is_written(root: Path, what: bytes) -> bool:
    """Whether a file, open or closed, has these bytes."""
    return any(what in data for data in contents(closed_files(root) + open_files(root)))


def records_of(root: Path, *, with_open: bool = False) -> list[Record]:
    """Every record of the closed files, in order, and the whole lines of open ones; a file must begin with ``open``."""
    records = []
    for path in closed_files(root) + (open_files(root) if with_open else []):
        data = path.read_bytes()
        is_open = path.name.startswith(OPEN_PREFIX)
        some = parsed(data[: data.rfind(b"\n") + 1] if is_open else data)
        assert is_open or some, f"{path} is empty"
        assert not some or some[0]["ev"] == "open", f"{path} does not begin with open"
        records += some
    return records


# By default an answer waits 0.3 s for its records, and a lookup 1 s for the routes of a start. A busy machine may need
# longer; then a kill loses the records, and the lookup is answered SYSTEM_ERROR.
PATIENT = """
import sys
from rocketns import first_routes
from rocketns.__main__ import main
from rocketns.journal import writer
first_routes.UNHEARD_S = writer.WITHIN_S = 60.0
sys.exit(main())
"""


class PatientServer(RocketnsServer):
    """What it has answered is in its journal, also after a kill. Whoever connects during a start waits for its end."""

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        return [sys.executable, "-c", PATIENT, *super().program(options)[3:]]

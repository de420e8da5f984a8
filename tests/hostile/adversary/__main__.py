"""``python -m tests.hostile.adversary``: the full run of some minutes, with reactors and without."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from interop.harness.servers import MODES
from tests.hostile.adversary.run import PROPERTIES, run


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.adversary", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3, help="how long each server is attacked")
    given = parser.parse_args(arguments)
    faults: list[str] = []
    for kind in MODES:
        with tempfile.TemporaryDirectory() as home:
            server = kind(Path(home), PROPERTIES)
            try:
                outcome = run(server, given.minutes * 60)
            finally:
                status = server.stop()
        faults += [f"{kind.mode}: {fault}" for fault in outcome.faults()]
        print("\n".join([f"{kind.mode}, {given.minutes:g} minutes:", *outcome.lines(), f"exit status {status}"]))
    print("\n".join(faults or ["everything within its bounds"]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``make soak MINUTES=N``: two real servers for so long, disturbed, each answer checked. Exit status 1 on any fault."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.soak.long.report import complaints, draw, lines
from tests.soak.long.run import KILL_EVERY_S, soak


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long (default: 10); growth is judged from 60 on")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of the moments of the disturbances")
    every = f"mean time between two kills of the second server (default: {KILL_EVERY_S:g})"
    parser.add_argument("--kill-every", type=float, default=KILL_EVERY_S, metavar="SECONDS", help=every)
    parser.add_argument("--folder", type=Path, help="where servers keep their files (default: a temporary folder)")
    parser.add_argument("--picture", type=Path, help="an SVG file for memory, descriptors and threads over time")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="rocketns-soak-") as temporary:
        folder = given.folder or Path(temporary)
        print(f"seed {given.seed}, {given.minutes:g} minutes, files in {folder}", flush=True)
        outcome = soak(folder, given.minutes * 60, given.seed, given.kill_every)
    if given.picture:
        draw(outcome, given.picture)
    found = complaints(outcome, given.minutes)
    print("\n".join([*lines(outcome), *found, f"{len(found)} complaints" if found else "nothing to complain of"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

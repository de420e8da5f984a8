"""python -m tests.journal.wild --histories 10000 --seed 1: plays so many, and prints each difference made short."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.journal.wild import histories


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.journal.wild", description=__doc__)
    parser.add_argument("--histories", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first one (default: 1)")
    parser.add_argument("--sockets", action="store_true", help="real servers over sockets, killed and started again")
    given = parser.parse_args()
    began, differences = time.monotonic(), 0
    how = histories.play_over_sockets if given.sockets else histories.play
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.seed, given.seed + given.histories):
            found = histories.run(str(number), Path(folder) / "home", how)
            if found is not None:
                differences += 1
                print(f"seed {number}: {found}", flush=True)
    seconds = time.monotonic() - began
    print(f"{given.histories} histories from seed {given.seed} on: {differences} with a difference, {seconds:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

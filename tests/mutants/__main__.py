"""``make mutants``: plant each fault of the catalogue in a copy of the code and say which of them no test notices.

The tests of each fault pass without it first. Exit status 1 where a fault survives whose entry does not say why.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.copy import Copy
from tests.mutants.fault import Fault, read_faults


def result_of(copy: Copy, fault: Fault) -> str:
    """``caught``, ``SURVIVED``, ``survives`` with the reason that the catalogue has, or what else is wrong."""
    try:
        caught = copy.catches(fault)
    except subprocess.CalledProcessError as error:
        return f"DOES NOT COMPILE {error.stderr.decode()[-500:]}"
    if caught:
        return "CAUGHT, though its entry says that it survives" if fault.survives else "caught"
    return f"survives: {fault.survives}" if fault.survives else "SURVIVED"


def run_share(folder: Path, share: Sequence[Fault]) -> list[str]:
    """Everything that one worker does, in a copy of its own; what is not as it should be."""
    copy = Copy(folder)
    failing = [tests for tests in sorted({fault.tests for fault in share}) if not copy.passes(tests)]
    wrong = [f"without a fault these tests fail: {' '.join(tests)}" for tests in failing]
    for fault in share if not wrong else ():
        started = time.monotonic()
        result = result_of(copy, fault)
        print(f"{fault.name}: {result} ({time.monotonic() - started:.0f} s)", flush=True)
        if not result.startswith(("caught", "survives:")):
            wrong.append(f"{fault.name}: {result}")
    return wrong


def shares_of(faults: Sequence[Fault], workers: int) -> list[list[Fault]]:
    """The faults of one file stay together: to compile it again takes longer than its tests."""
    shares: list[list[Fault]] = [[] for _ in range(workers)]
    for _, group in itertools.groupby(faults, key=lambda fault: fault.file):
        min(shares, key=len).extend(group)
    return shares


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults with one of these words in their name or file")
    parser.add_argument("--workers", type=int, default=2, help="copies of the code that are tested at once")
    given = parser.parse_args(arguments)
    wanted = given.names or [""]
    faults = [f for f in read_faults() if any(word in f.name or word in f.file for word in wanted)]
    faults.sort(key=lambda fault: (fault.is_compiled, fault.file))  # nothing is compiled before the rest is done
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as at_once:
        shares = shares_of(faults, given.workers)
        folders = [Path(folder) / str(number) for number in range(given.workers)]
        wrong = [line for lines in at_once.map(run_share, folders, shares) for line in lines]
    print("\n".join([f"{len(faults)} faults, {len(wrong)} not as they should be", *wrong]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

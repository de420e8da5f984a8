"""``make mutants``: plant each fault of the catalogue in a copy of the code and say which of them no test notices.

The tests of each fault pass without it first. After ``--minutes`` no further fault is planted, and those that were not
are counted. Exit status 1 where a fault survives whose entry does not say why, or time did not suffice.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.copy import Copy
from tests.mutants.fault import Fault, read_faults

MINUTES = 120
WHOLE = "1/1"
NOT_RUN = "NOT RUN, time is over"


def result_of(copy: Copy, fault: Fault) -> str:
    """``caught``, ``SURVIVED``, ``survives`` with the reason that the catalogue has, or what else is wrong."""
    try:
        caught = copy.catches(fault)
    except subprocess.CalledProcessError as error:
        return f"DOES NOT COMPILE {error.stderr.decode()[-500:]}"
    if caught:
        return "CAUGHT, though its entry says that it survives" if fault.survives else "caught"
    return f"survives: {fault.survives}" if fault.survives else "SURVIVED"


def run_share(folder: Path, share: Sequence[Fault], ends_at: float) -> dict[Fault, str]:
    """All work of one worker, in a copy of its own; the results."""
    copy, results = Copy(folder), {}
    passing: dict[tuple[str, ...], bool] = {}
    for fault in share:
        started = time.monotonic()
        if started > ends_at:
            results[fault] = NOT_RUN
            continue
        if fault.tests not in passing:
            passing[fault.tests] = copy.passes_without_fault(fault.tests)
        results[fault] = result_of(copy, fault) if passing[fault.tests] else "ITS TESTS FAIL WITHOUT IT"
        print(f"{fault.name}: {results[fault]} ({time.monotonic() - started:.0f} s)", flush=True)
    return results


def is_right(result: str) -> bool:
    return result.startswith(("caught", "survives:"))


def summary_of(results: dict[Fault, str]) -> list[str]:
    """A line for each folder, and one for each fault with an unexpected result."""
    counts: dict[str, Counter[str]] = {}
    for fault, result in results.items():
        kind = result.partition(":")[0] if is_right(result) else "wrong"
        counts.setdefault(fault.folder, Counter())[kind] += 1
    lines = [
        f"{folder:12} {found.total():4} faults, {found['caught']:4} caught, "
        f"{found['survives']:2} survive with a reason, {found['wrong']:3} not as they should be"
        for folder, found in sorted(counts.items())
    ]
    return lines + [f"{fault.name}: {result}" for fault, result in results.items() if not is_right(result)]


def shares_of(faults: Sequence[Fault], workers: int) -> list[list[Fault]]:
    """The faults of one file stay together, because compiling it again takes longer than its tests."""
    shares: list[list[Fault]] = [[] for _ in range(workers)]
    for _, group in itertools.groupby(faults, key=lambda fault: fault.file):
        min(shares, key=len).extend(group)
    return shares


def part_of(faults: Sequence[Fault], part: str) -> Sequence[Fault]:
    """``K/N``: the Kth of N parts. Each part has faults of every folder, and together they have every fault."""
    number, parts = map(int, part.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(f"no part {part}")
    return faults[number - 1 :: parts]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults with one of these words in their name or file")
    parser.add_argument("--workers", type=int, default=2, help="copies of the code that are tested at once")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"no fault is planted after them ({MINUTES})")
    parser.add_argument("--part", default=WHOLE, help="K/N: only the Kth of N parts, each with faults of every folder")
    given = parser.parse_args(arguments)
    wanted = given.names or [""]
    faults = [f for f in read_faults() if any(word in f.name or word in f.file for word in wanted)]
    faults.sort(key=lambda fault: (fault.is_compiled, fault.file))  # nothing is compiled before the rest is done
    ends_at = time.monotonic() + given.minutes * 60
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as at_once:
        shares = shares_of(part_of(faults, given.part), given.workers)
        folders = [Path(folder) / str(number) for number in range(given.workers)]
        results: dict[Fault, str] = {}
        for found in at_once.map(run_share, folders, shares, itertools.repeat(ends_at)):
            results |= found
    print("\n".join(summary_of(results)))
    return int(not all(map(is_right, results.values())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

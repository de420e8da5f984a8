"""``make simulate``: runs seeds of the simulation. A seed that fails is shrunk, and the line that replays it printed.

Exit status 1 if an invariant does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection, Iterator


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of texts is part of a run
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *arguments],
                  os.environ | {"PYTHONHASHSEED": "0"})  # fmt: skip
    if given.audit:
        from tests.simulation.audit import judge_all

        one = None if given.seed is None else range(given.seed, given.seed + 1)
        return int(judge_all(one or range(given.first, given.first + given.seeds)) > 0)
    return _replay(given) if given.seed is not None else _run_seeds(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds are run (200)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (0)")
    parser.add_argument("--minutes", type=float, help="begin no further seed after this time")
    parser.add_argument("--seed", type=int, help="only this seed, with its plan")
    parser.add_argument("--without", default="", help="leave out these faults of the plan: 1,3-5")
    parser.add_argument("--until", type=int, help="end after so many seconds of virtual time")
    parser.add_argument("--audit", action="store_true", help="audit the journals of each seed: invariant (h)")
    return parser


def _replay(given: argparse.Namespace) -> int:
    from tests.simulation.simulation import Case, described, run

    case = Case(given.seed, parsed_numbers(given.without), given.until)
    print(*described(case), sep="\n")
    outcome = run(case)
    print(f"{outcome.at_s:.3f} s, {outcome.rounds} rounds, digest {outcome.digest & 0xFFFFFFFF:08x}")
    print(outcome.violation or "every invariant held")
    return int(outcome.violation is not None)


def _run_seeds(given: argparse.Namespace) -> int:
    from tests.simulation.simulation import Case, described, run, shrink

    began, done, virtual_s, rounds = time.monotonic(), 0, 0.0, 0
    for seed in _seeds(given, began):
        outcome = run(Case(seed))
        done, virtual_s, rounds = done + 1, virtual_s + outcome.at_s, rounds + outcome.rounds
        if outcome.violation is not None:
            print(f"seed {seed}, after {done} seeds: {outcome.violation}", flush=True)
            small = shrink(outcome, run)
            print("shrunk to:", *described(small.case), small.violation, sep="\n")
            print(replay_line(small.case.seed, small.case.without, small.case.seconds))
            return 1
    spent_s = time.monotonic() - began
    print(f"{done} seeds, {virtual_s / 3600:.1f} h of virtual time, {rounds} rounds, in {spent_s:.0f} s: "
          "every invariant held")  # fmt: skip
    return 0


def _seeds(given: argparse.Namespace, began: float) -> Iterator[int]:
    for seed in range(given.first, given.first + given.seeds):
        if given.minutes is not None and time.monotonic() - began > given.minutes * 60:
            return
        yield seed


def replay_line(seed: int, without: frozenset[int], until: int | None) -> str:
    """The command that runs a case again."""
    words = [f"python -m tests.simulation --seed {seed}"]
    words += [f"--without {shown_numbers(without)}"] if without else []
    words += [f"--until {until}"] if until is not None else []
    return " ".join(words)


def parsed_numbers(text: str) -> frozenset[int]:
    """``1,3-5`` → {1, 3, 4, 5}."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def shown_numbers(numbers: Collection[int]) -> str:
    """{1, 3, 4, 5} → ``1,3-5``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``make simulate``: runs seeds of the simulation. A seed that fails is shrunk, and the line that replays it printed.

Exit status 1 if an invariant does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.support.histories import as_text, from_text

if TYPE_CHECKING:
    from tests.simulation.simulation import Case


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
    parser.add_argument("--wild", action="store_true", help="histories of any requests; each answer after a restart")
    parser.add_argument("--audit", action="store_true", help="audit the journals of each seed: invariant (h)")
    return parser


def _replay(given: argparse.Namespace) -> int:
    from tests.simulation.simulation import Case, described, run
    from tests.simulation.wild import run_wild

    case = Case(given.seed, frozenset(from_text(given.without)), given.until, given.wild)
    print(*described(case), sep="\n")
    outcome = (run_wild if given.wild else run)(case)
    print(f"{outcome.at_s:.3f} s, {outcome.rounds} rounds, digest {outcome.digest & 0xFFFFFFFF:08x}")
    print(outcome.violation or "every invariant held")
    return int(outcome.violation is not None)


def _run_seeds(given: argparse.Namespace) -> int:
    from tests.simulation.simulation import Case, described, run, shrink
    from tests.simulation.wild import run_wild

    play = run_wild if given.wild else run
    began, done, virtual_s, rounds = time.monotonic(), 0, 0.0, 0
    for seed in _seeds(given, began):
        outcome = play(Case(seed, wild=given.wild))
        done, virtual_s, rounds = done + 1, virtual_s + outcome.at_s, rounds + outcome.rounds
        if outcome.violation is not None:
            print(f"seed {seed}, after {done} seeds: {outcome.violation}", flush=True)
            small = shrink(outcome, play)
            print("shrunk to:", *described(small.case), small.violation, sep="\n")
            print(replay_line(small.case))
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


def replay_line(case: Case) -> str:
    """The command that runs a case again."""
    words = [f"python -m tests.simulation --seed {case.seed}"]
    words += ["--wild"] if case.wild else []
    words += [f"--without {as_text(sorted(case.without))}"] if case.without else []
    words += [f"--until {case.seconds}"] if case.seconds is not None else []
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

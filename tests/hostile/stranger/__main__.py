"""``python -m tests.hostile.stranger``: strangers of several seeds, with reactors and without.

``--seed 7 --steps 20-40`` plays some steps of one seed again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from interop.harness.servers import MODES, RocketnsServer
from tests.hostile.conftest import spare_the_machine
from tests.hostile.stranger.judging.outcome import Outcome
from tests.hostile.stranger.run import Stage, run
from tests.hostile.stranger.strangers import STEPS_MAX

REPLAY_S = 120.0


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    kinds = [kind for kind in MODES if given.mode in ("both", kind.mode)]
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    seconds = given.minutes * 60 / len(seeds) / len(kinds)
    first, last = 0, STEPS_MAX
    if given.steps:
        first, last = (int(number) for number in given.steps.split("-"))
        last, seconds = last + 1, REPLAY_S
    faults = 0
    for seed in seeds:
        for kind in kinds:
            outcome = attack(kind, seed, seconds, first, last)
            faults += len(outcome.faults())
            print("\n".join([*outcome.lines(), *(f"FAULT: {fault}" for fault in outcome.faults()), ""]), flush=True)
    print(f"{faults} faults" if faults else "everything within its bounds")
    return int(faults > 0)


def attack(kind: type[RocketnsServer], seed: int, seconds: float, first: int = 0, last: int = STEPS_MAX) -> Outcome:
    """A server of this kind under the steps from ``first`` to before ``last``."""
    with tempfile.TemporaryDirectory() as home:
        stage = Stage(Path(home), seed, seconds, first, last)
        with stage.strangers() as process:
            server = kind(Path(home) / "ns", stage.properties)
            try:
                spare_the_machine(server)
                return run(server, stage, process)
            finally:
                server.kill()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.stranger", description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="how many seeds (4)")
    parser.add_argument("--first", type=int, default=int(time.time()), help="the first of them (the time)")
    parser.add_argument("--minutes", type=float, default=8, help="of all seeds and modes together (8)")
    parser.add_argument("--seed", type=int, help="only this seed")
    parser.add_argument("--steps", help="only these steps of it: 20-40")
    parser.add_argument("--mode", choices=("both", *(kind.mode for kind in MODES)), default="both")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

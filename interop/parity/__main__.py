"""Play scenarios or random sequences on both servers and print where they differ.

``python -m interop.parity NAME…`` with names as in ``zones`` or ``zones[binary-400]``,
``python -m interop.parity --seed 7 [--steps 3,17,20-25]``, or ``--list``.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from interop.parity.comparing.playing import play_until_seen
from interop.parity.generated import sequences
from interop.parity.language import JSON_513, Form, Scenario
from interop.parity.pairs.pair import Pair
from interop.parity.pairs.setups import SETUPS
from interop.parity.scenarios import cases

Case = tuple[Scenario, Form]


def chosen(names: list[str]) -> list[Case]:
    """The cases of the names; a name without a form stands for all of them. KeyError for one that is not there."""
    every = {f"{scenario.name}[{form}]": (scenario, form) for scenario, form in cases()}
    found = [key for name in names for key in every if name in (key, re.sub(r"\[.*", "", key))]
    missing = [name for name in names if not any(key.startswith(name) for key in found)]
    if missing:
        raise KeyError(f"no scenario {', '.join(missing)}")
    return [every[key] for key in found]


def run(every: list[Case]) -> int:
    """Play all; the number of those that differ."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for setup in dict.fromkeys(scenario.setup for scenario, _ in every):
            pair = Pair(SETUPS[setup], Path(folder) / setup)
            try:
                failed += sum(_differs(pair, *case) for case in every if case[0].setup == setup)
            finally:
                pair.stop()
    return failed


def _differs(pair: Pair, scenario: Scenario, form: Form) -> bool:
    others, unseen = play_until_seen(pair, scenario, form)
    result = "differs" if others else f"does not show {unseen}" if unseen else "as it should be"
    print(f"{scenario.name}[{form}]: {result}", *map(str, others), sep="\n\n" if others else "\n", flush=True)
    return bool(others or unseen)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m interop.parity", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seed", help="play a random sequence: 7, or odd-7 for one of odd requests")
    parser.add_argument("--steps", help="only these steps of it, as in 3,17,20-25")
    parser.add_argument("--list", action="store_true", help="print the names of all scenarios")
    options = parser.parse_args()
    if options.list:
        print(*(f"{scenario.name}[{form}]" for scenario, form in cases()), sep="\n")
        return 0
    every = chosen(options.names)
    if options.seed is not None:
        numbers = sequences.from_text(options.steps) if options.steps else list(range(sequences.STEPS))
        every.append((sequences.scenario(options.seed, numbers), JSON_513))
    return 1 if run(every) else 0


if __name__ == "__main__":
    sys.exit(main())

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

from interop.parity import sequences
from interop.parity.groups import GROUPS, SCENARIOS, pair_of, play, recorded_forms, wrong
from interop.parity.language import JSON_513, Form, Scenario
from tests.support.histories import from_text

Case = tuple[str, Scenario, Form]


def chosen(names: list[str]) -> list[Case]:
    """The cases of the names, in the recorded form unless they name another. KeyError for one that is not there."""
    groups = {scenario.name: group for group, scenarios in GROUPS.items() for scenario in scenarios}
    found = []
    for text in names:
        name, form = re.fullmatch(r"(.+?)(?:\[(.+)\])?", text).groups()  # type: ignore[union-attr]
        scenario = SCENARIOS[name]
        found.append((groups[name], scenario, Form.of(form) if form else recorded_forms(scenario)[0]))
    return found


def run(every: list[Case]) -> int:
    """Play all, each on fresh servers; the number of those that differ."""
    failed = 0
    for group, scenario, form in every:
        with tempfile.TemporaryDirectory() as folder, pair_of(group, Path(folder), with_java=True) as pair:
            found = wrong(scenario, form, play(pair, scenario, form))
        failed += bool(found)
        print(f"{scenario.name}[{form}]: {found or 'as it should be'}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m interop.parity", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seed", help="play a random sequence: 7, or odd-7 for one of odd requests")
    parser.add_argument("--steps", help="only these steps of it, as in 3,17,20-25")
    parser.add_argument("--list", action="store_true", help="print the names of all scenarios")
    options = parser.parse_args()
    if options.list:
        print(*SCENARIOS, sep="\n")
        return 0
    every = chosen(options.names)
    if options.seed is not None:
        numbers = from_text(options.steps) if options.steps else list(range(sequences.STEPS))
        every.append(("base-headers", sequences.scenario(options.seed, numbers), JSON_513))
    return 1 if run(every) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs a Hypothesis state machine with a seed, and says how to replay a failure."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

EXAMPLES_MIN = 5


def run_machine(machine: type[RuleBasedStateMachine], file: str, number: int, **limits: Any) -> None:
    """Run a fresh subclass of the machine. A failure has a note with the command that replays it.

    Under a sanitizer (tests/sanitize) fewer examples are tried, as of other property tests.
    """
    over = int(os.environ.get("ROCKETNS_EXAMPLES_OVER", "1"))
    given = settings(**limits)
    fewer = settings(given, max_examples=max(EXAMPLES_MIN, given.max_examples // over)) if over > 1 else given
    seeded = seed(number)(type("Machine", (machine,), {}))
    try:
        run_state_machine_as_test(seeded, settings=fewer)
    except BaseException as error:
        error.add_note(f"replay: ROCKETNS_SEED={number} python -m pytest {file}")
        raise

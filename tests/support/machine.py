"""Runs a Hypothesis state machine with a seed, and says how to replay a failure."""

from __future__ import annotations

from typing import Any

from hypothesis import seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_machine(machine: type[RuleBasedStateMachine], file: str, number: int, **limits: Any) -> None:
    """Run a fresh subclass of the machine. A failure has a note with the command that replays it."""
    seeded = seed(number)(type("Machine", (machine,), {}))
    try:
        run_state_machine_as_test(seeded, settings=settings(**limits))
    except BaseException as error:
        error.add_note(f"replay: ROCKETNS_SEED={number} python -m pytest {file}")
        raise

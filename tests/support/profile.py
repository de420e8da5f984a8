"""Random tests: their seed, one Hypothesis profile for all, and state machines that say how to replay a failure.

In CI they are the same ones each time, as Hypothesis has it by itself: CI refuses a change for what it breaks, and not
for an older fault that one of many examples happens to meet. Imported by the first conftest.
``--hypothesis-profile=thorough`` tries fifty times as many.
With ROCKETNS_SHRINK=0 in the environment a failing example is not made smaller, which takes up to 5 minutes.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

EXAMPLES_MIN = 5
IN_CI = bool(os.environ.get("CI"))
SIMPLIFYING = () if os.environ.get("ROCKETNS_SHRINK") == "0" else (Phase.shrink, Phase.explain)
settings.register_profile(
    "rocketns",
    max_examples=40,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.target, *SIMPLIFYING),
    deadline=None,  # a slow run on a busy machine is not a failure
    print_blob=True,
    derandomize=IN_CI,
    database=None if IN_CI else settings.default.database,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("rocketns"), max_examples=2000)
settings.load_profile("rocketns")


def new_seed() -> int:
    """ROCKETNS_SEED from the environment, which replays a failure; without it 1 in CI, and a random one elsewhere."""
    return int(os.environ.get("ROCKETNS_SEED") or (1 if IN_CI else secrets.randbits(32)))


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

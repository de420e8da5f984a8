"""A share of ``make sanitize`` in every run of all tests, one test for each sanitizer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sanitize.running import SHARES, run
from tests.sanitize.sanitizers import SANITIZERS, Sanitizer
from tests.support.profile import new_seed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sanitizer", SANITIZERS, ids=lambda sanitizer: sanitizer.name)
def test_a_sanitizer_has_no_complaint(sanitizer: Sanitizer, record_property: Callable[[str, object], None]) -> None:
    """It reports the planted faults, and nothing in the tests of the fast lane, mutated frames and a short soak."""
    if reason := sanitizer.missing():
        pytest.skip(f"SANITIZER LEFT OUT, nothing is run with -fsanitize={sanitizer.flags}: {reason}")
    seed = new_seed()
    found = run(sanitizer, SHARES[sanitizer.name], seed)
    assert not found, "\n".join([*found, f"python -m tests.sanitize --share --only {sanitizer.name} --seed {seed}"])
    record_property("print sanitizers", f"-fsanitize={sanitizer.flags}: clean, seed {seed}")

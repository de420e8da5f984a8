"""Strangers of one seed: honest peers are answered, counters stay within their bounds, and nothing is lost.

A short form of ``python -m tests.hostile.stranger``, which takes minutes or an hour.
"""

from __future__ import annotations

import pytest

from interop.harness.servers import NameServer
from tests.hostile.stranger.__main__ import attack

SEED, SHARE_S = 293, 20


@pytest.mark.slow
@pytest.mark.usefixtures("open_files_max")
def test_strangers_stay_within_the_stated_bounds(server_class: type[NameServer]) -> None:
    outcome = attack(server_class, SEED, SHARE_S)
    assert not outcome.faults(), "\n".join([*outcome.faults(), *outcome.lines()])

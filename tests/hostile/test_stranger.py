"""Strangers of one seed; honest peers hardly notice, and nothing is lost.

A short form of ``python -m tests.hostile.stranger``, which takes minutes or an hour.
"""

from __future__ import annotations

import pytest

from interop.harness.servers import RocketnsServer
from tests.hostile.stranger.__main__ import attack

SEED, SHARE_S = 293, 20


@pytest.mark.timeout(280)
@pytest.mark.flaky(reruns=2, only_rerun=" waited ")  # waits are measured while other tests want the cores
def test_waits_and_memory_stay_within_their_bounds(server_class: type[RocketnsServer]) -> None:
    """`tests/hostile/stranger/judging/bounds.py` has the bounds."""
    outcome = attack(server_class, SEED, SHARE_S)
    assert not outcome.faults(), "\n".join([*outcome.faults(), *outcome.lines()])

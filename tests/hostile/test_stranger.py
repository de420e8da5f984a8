"""All known attacks at once; honest brokers and clients hardly notice.

A short form of ``python -m tests.hostile.adversary``, which takes minutes.
"""

from __future__ import annotations

import pytest

from tests.hostile.adversary.run import PROPERTIES, run
from tests.hostile.conftest import StartServer

SHARE_S = 12


@pytest.mark.timeout(240)
@pytest.mark.flaky(reruns=4)  # waits are measured while other tests want the cores
def test_waits_and_memory_stay_within_their_bounds(start_server: StartServer) -> None:
    """Honest peers wait at most one second, new ones without reactors two, and memory stays below the stated bounds."""
    server = start_server(PROPERTIES)
    outcome = run(server, SHARE_S)
    assert not outcome.faults(), "\n".join([*outcome.faults(), *outcome.lines()])

"""What a large first registration waits for: other hosts together as one each, connections of its own host one each."""

from __future__ import annotations

import pytest

from rocketns.server.requests.inbox import BYTE_COST_NS, QUANTUM_NS, REQUEST_COST_NS, Inbox
from tests.server.test_inbox import frame, inbox

BODY = 1_000_000
EXPECTED_NS = REQUEST_COST_NS + BYTE_COST_NS * BODY
SMALL_NS = 100_000  # what a request of the others costs
OTHERS = 20


def flooded(names: list[str]) -> Inbox[str]:
    """Each of these connections has more waiting than is served while anyone else waits."""
    waiting = inbox(client=100_000, default=100_000)
    for _ in range(500):
        for name in names:
            waiting.submit(name, frame())
    return waiting


def waits_ns(waiting: Inbox[str], key: str) -> int:
    """What others cost before its frame is taken."""
    waited = 0
    while waiting.take()[0] != key:
        waiting.charge(SMALL_NS)
        waited += SMALL_NS
    return waited


@pytest.mark.parametrize(
    ("names", "shares"),
    [
        ([f"host{n}" for n in range(OTHERS)], OTHERS),
        ([f"a{n}" for n in range(OTHERS)], 1),
    ],
    ids=["on its own host", "on another host"],
)
def test_a_large_frame_of_a_newcomer_waits_for_a_share_of_each(names: list[str], shares: int) -> None:
    """A share is what its frame is expected to cost, or the quantum that a connection is served for."""
    waiting = flooded(names)
    for _ in range(50):  # they have been served for a while
        waiting.take()
        waiting.charge(SMALL_NS)
    waiting.submit("host99", frame(body=BODY))
    waited = waits_ns(waiting, "host99")
    assert waited <= shares * (EXPECTED_NS + 2 * QUANTUM_NS)

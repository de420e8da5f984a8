"""What a large first registration waits for: one share for each other host, and for each connection of its own host.

Also whose frames are refused when all connections together hold too many bytes.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import frame as frame_of
from interop.harness.wire import json_header
from rocketns.config import NamesrvConfig
from rocketns.server.requests.inbox import BYTE_COST_NS, LARGE_BYTES, QUANTUM_NS, REQUEST_COST_NS, Inbox
from tests.server.requests.test_inbox import HEAD, OTHER, ROUTE, frame, inbox, place_of, serve

BODY = 1_000_000
EXPECTED_NS = REQUEST_COST_NS + BYTE_COST_NS * BODY
SMALL_NS = 100_000  # what a request of the others costs
OTHERS = 20


def flooded(names: list[str]) -> Inbox[str]:
    """Each of these connections has more frames waiting than are served while others wait."""
    waiting = inbox(client=100_000, default=100_000)
    for _ in range(500):
        for name in names:
            waiting.submit(name, frame())
    return waiting


def waits_ns(waiting: Inbox[str], key: str) -> int:
    """The cost of others' frames before its frame is served."""
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
    for _ in range(50):  # all were served for a while
        waiting.take()
        waiting.charge(SMALL_NS)
    waiting.submit("host99", frame(body=BODY))
    waited = waits_ns(waiting, "host99")
    assert waited <= shares * (EXPECTED_NS + 2 * QUANTUM_NS)


def test_strangers_who_hold_all_bytes_are_refused_and_not_who_comes_with_little() -> None:
    """The largest frame is refused first, and only as many as necessary."""
    waiting = inbox(bytes_max=10 * LARGE_BYTES)
    for name, share in (("a", 3), ("b", 5), ("c", 2)):
        assert waiting.submit(name, frame(body=share * LARGE_BYTES - HEAD))
    assert waiting.submit("d", frame(body=100))
    refused = {serve(waiting)[::2] for _ in range(4)}
    assert refused == {("a", False), ("b", True), ("c", False), ("d", False)}
    assert waiting.bytes == 0


def test_a_connection_that_would_hold_the_most_is_refused() -> None:
    waiting = inbox(bytes_max=10 * LARGE_BYTES)
    assert waiting.submit("a", frame(body=4 * LARGE_BYTES))
    assert not waiting.submit("b", frame(body=7 * LARGE_BYTES))
    assert waiting.submit("b", frame(body=3 * LARGE_BYTES))
    assert not waiting.submit("b", frame(body=3 * LARGE_BYTES))


def test_the_host_that_holds_the_most_is_refused_first() -> None:
    """Of its connections the largest. Another host's connection with more than each of them is not."""
    waiting = inbox(bytes_max=10 * LARGE_BYTES)
    for number, body in enumerate((20_000, 30_000, 20_000)):
        assert waiting.submit(f"b{number}", frame(body=body))
    for number in range(8):
        assert waiting.submit(f"a{number}", frame(body=LARGE_BYTES + number))
    assert waiting.submit("c", frame(body=LARGE_BYTES + 10_000 + 100))
    assert waiting.submit("c", frame(body=2 * LARGE_BYTES))
    refused = [key for key, _, is_refused in (serve(waiting) for _ in range(len(waiting))) if is_refused]
    assert sorted(refused) == ["a5", "a6", "a7"]


def test_registered_brokers_are_refused_last() -> None:
    """Unless they hold more than half."""
    brokers = {"a", "b"}
    waiting: Inbox[str] = Inbox(NamesrvConfig(), 10 * LARGE_BYTES, place_of, waiting_drop, brokers.__contains__)
    assert waiting.submit("a", frame(body=5 * LARGE_BYTES - 2 * HEAD))
    assert waiting.submit("c", frame(body=2 * LARGE_BYTES))
    assert waiting.submit("d", frame(body=2 * LARGE_BYTES))
    assert waiting.submit("e", frame(body=LARGE_BYTES + 1_000))
    assert waiting.submit("b", frame(body=LARGE_BYTES))
    assert waiting.submit("b", frame(body=LARGE_BYTES))
    refused = {key for key, _, is_refused in (serve(waiting) for _ in range(len(waiting))) if is_refused}
    assert refused in ({"c", "a"}, {"d", "a"})


def waiting_drop(_: str) -> None:
    """Nobody holds so much by headers alone."""


def test_a_frame_that_a_full_queue_refuses_costs_nobody_a_frame() -> None:
    """Its body is not kept, so it needs no room."""
    waiting = inbox(default=1, bytes_max=10 * LARGE_BYTES)
    assert waiting.submit("a", frame())
    assert waiting.submit("b", frame(body=6 * LARGE_BYTES, code=ROUTE))
    assert not waiting.submit("a", frame(body=5 * LARGE_BYTES))
    refused = {serve(waiting)[::2] for _ in range(3)}
    assert refused == {("a", False), ("a", True), ("b", False)}


def test_a_connection_that_holds_too_much_by_headers_alone_is_given_up() -> None:
    """A refused frame keeps its header, so refusing it would free nothing."""
    waiting = inbox(bytes_max=8 * LARGE_BYTES)
    header = json_header(OTHER, {"k": "v" * 3 * LARGE_BYTES})
    for name in ("a", "b"):
        assert waiting.submit(name, frame_of(header))
    assert not waiting.submit("c", frame_of(header)), "it would hold as much as the others"
    assert waiting.submit("d", frame(body=2 * LARGE_BYTES))
    assert {serve(waiting)[0] for _ in range(len(waiting))} in ({"a", "d"}, {"b", "d"})
    assert waiting.bytes == 0


def test_a_connection_that_holds_the_most_by_many_small_frames_is_given_up() -> None:
    waiting = inbox(default=100_000, bytes_max=2 * LARGE_BYTES)
    while waiting.submit("a", frame()):
        pass
    assert waiting.submit("b", frame(body=100))
    assert [serve(waiting)[0] for _ in range(len(waiting))] == ["b"]


large = st.tuples(st.sampled_from(["a1", "a2", "b", "c"]), st.integers(0, 4 * LARGE_BYTES))


@given(st.lists(st.one_of(large, st.none(), st.sampled_from(["a1", "b"])), max_size=60))
def test_bytes_never_exceed_their_limit_by_more_than_headers(steps: list[tuple[str, int] | str | None]) -> None:
    waiting = inbox(bytes_max=8 * LARGE_BYTES)
    for step in steps:
        if isinstance(step, tuple):
            waiting.submit(step[0], frame(body=step[1]))
        elif isinstance(step, str):
            waiting.drop(step)
        elif waiting:
            serve(waiting)
        assert waiting.bytes <= 8 * LARGE_BYTES + HEAD * len(waiting)
    while waiting:
        serve(waiting)
    assert waiting.bytes == 0

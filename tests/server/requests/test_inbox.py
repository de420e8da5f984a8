"""The frames that wait for control: bounded like Java's two queues, in order, and served by cost so far."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import frame as frame_of
from interop.harness.wire import json_header
from rocketns.config import NamesrvConfig
from rocketns.server.requests.inbox import Inbox
from rocketns.server.requests.shares import DEBTS_MAX, Shares

ROUTE, OTHER = 105, 106
PLENTY = 10**9
MS = 1_000_000
HEADERS = {ROUTE: json_header(ROUTE), OTHER: json_header(OTHER)}
HEAD = len(frame_of(HEADERS[OTHER]))


def place_of(key: str) -> tuple[str, str]:
    """Connections are named by their host and a number: a1, or a/x1 with a PROXY header that announces x."""
    host = key.rstrip("0123456789")
    socket_host, _, announced = host.partition("/")
    return socket_host, announced or host


def inbox(client: int = 100, default: int = 100, bytes_max: int = PLENTY, known: Container[str] = ()) -> Inbox[str]:
    config = NamesrvConfig(client_request_thread_pool_queue_capacity=client, default_thread_pool_queue_capacity=default)
    give_up = lambda key: waiting.drop(key)  # noqa: E731, PLW0108 (not yet bound)
    waiting: Inbox[str] = Inbox(config, bytes_max, place_of, give_up, known.__contains__)
    return waiting


def frame(number: int = 0, body: int = 0, code: int = OTHER) -> bytes:
    """A frame with this many bytes of body, which identify it."""
    return frame_of(HEADERS[code], bytes([number]) * body)


def serve(waiting: Inbox[str], cost_ns: int = MS) -> Any:
    """One frame: its connection, its bytes, and whether it is refused."""
    key, one = waiting.take()
    waiting.charge(cost_ns)
    return key, one.frame, one.is_refused


def order(waiting: Inbox[str], costs: dict[str, int]) -> list[str]:
    """Serve all frames; the order of their connections. ``costs`` gives the cost of a host's or connection's frame."""
    served = []
    while waiting:
        key, _ = waiting.take()
        waiting.charge(costs.get(key, MS))
        served.append(key)
    return served


def test_one_connection_is_served_in_its_order() -> None:
    """Lookups and other requests alike."""
    waiting = inbox()
    frames = [frame(number, 1, (ROUTE, OTHER)[number % 2]) for number in range(6)]
    for one in frames:
        assert waiting.submit("a", one)
    assert len(waiting) == 6
    assert [serve(waiting) for _ in frames] == [("a", one, False) for one in frames]
    assert (len(waiting), waiting.bytes) == (0, 0)


@pytest.mark.parametrize("hosts", [("a", "b"), ("a1", "a2")], ids=["two hosts", "one host"])
def test_a_host_that_costs_much_is_served_less(hosts: tuple[str, str]) -> None:
    """Two frames of one size: one peer's cost ten times as much, so ten of the other peer go first."""
    dear, cheap = hosts
    waiting = inbox()
    for _ in range(30):
        waiting.submit(dear, frame())
        waiting.submit(cheap, frame())
    served = order(waiting, {dear: 10 * MS})
    assert served.index(cheap) <= 1
    assert 2 <= served[:30].count(dear) <= 4


def test_a_newcomer_waits_for_one_frame() -> None:
    """Its account starts at the present level: it owes nothing for the past, and peers that have used more wait."""
    waiting = inbox()
    for _ in range(50):
        waiting.submit("old", frame())
    for _ in range(20):
        serve(waiting)
    waiting.submit("new", frame())
    assert serve(waiting)[0] == "new"


def test_a_host_that_was_silent_has_saved_nothing() -> None:
    """A connection that was idle for long takes turns like any other."""
    waiting = inbox()
    for _ in range(200):
        waiting.submit("busy", frame())
        serve(waiting)
    for _ in range(20):
        waiting.submit("silent", frame())
        waiting.submit("busy", frame())
    served = order(waiting, {})
    assert 4 <= served[:10].count("busy") <= 6


def test_more_connections_are_not_more_time() -> None:
    """A host with 40 connections, each new for its frame, gets as much as a host with one."""
    waiting = inbox()
    for number in range(40):
        waiting.submit(f"many{number}", frame())
    for _ in range(40):
        waiting.submit("one", frame())
    served = order(waiting, {})
    assert 15 <= served[:40].count("one") <= 25


def test_a_connection_that_comes_back_keeps_its_debt_by_its_host() -> None:
    """An expensive frame, a new connection, another expensive frame: the other host goes first."""
    waiting = inbox()
    waiting.submit("greedy1", frame())
    waiting.submit("modest", frame())
    waiting.submit("modest", frame())
    assert serve(waiting, 100 * MS)[0] == "greedy1"
    waiting.submit("greedy2", frame())
    assert order(waiting, {}) == ["modest", "modest", "greedy2"]


def test_a_small_frame_goes_before_large_ones() -> None:
    """Before anything was measured, the expected cost of a frame follows from its size."""
    waiting = inbox()
    for number in range(50):
        waiting.submit(f"host{number}", frame(body=1_000_000))
    waiting.submit("host99", frame(body=500))
    assert serve(waiting)[0] == "host99"


def test_a_small_frame_of_a_newcomer_passes_large_ones() -> None:
    """Also if other peers were served meanwhile, at a higher cost than their size suggested."""
    waiting = inbox()
    for number in range(50):
        waiting.submit(f"host{number}", frame(body=7_000))
    for _ in range(10):
        serve(waiting, 20 * MS)
    waiting.submit("host99", frame(body=700))
    assert serve(waiting)[0] == "host99"


def test_large_frames_are_not_starved_by_newcomers() -> None:
    """Small frames of new connections overtake a large frame only by the large frame's expected cost."""
    waiting = inbox()
    waiting.submit("large1", frame(body=1_000_000))
    before = 0
    for number in range(1_000):
        waiting.submit(f"large{number + 2}", frame())
        key, _ = waiting.take()
        waiting.charge(20_000)
        if key == "large1":
            break
        before += 1
    assert 100 < before < 300


@pytest.mark.parametrize(("full", "other"), [(ROUTE, OTHER), (OTHER, ROUTE)])
def test_a_full_queue_refuses_and_the_other_one_does_not(full: int, other: int) -> None:
    """B077, B078. A refused frame waits for its turn and keeps its header only."""
    waiting = inbox(client=3, default=3)
    taken = [waiting.submit("a", frame(number, 100, full)) for number in range(5)]
    assert taken == [True, True, True, False, False]
    assert waiting.submit("a", frame(code=other))
    served = [serve(waiting) for _ in range(5)]
    assert served[3:] == [("a", frame(body=100, code=full)[:HEAD], True)] * 2
    assert waiting.submit("a", frame(code=full))


@pytest.mark.parametrize("capacity", [3, 0, -1])
def test_a_full_queue_still_takes_the_first_request_of_a_connection(capacity: int) -> None:
    """A connection with one request at a time is always served."""
    waiting = inbox(client=capacity, default=capacity)
    for _ in range(5):
        waiting.submit("greedy", frame(code=ROUTE))
    assert waiting.submit("modest", frame(code=ROUTE))
    assert not waiting.submit("modest", frame(code=ROUTE))


def test_each_queue_has_its_own_capacity() -> None:
    """B077, B078."""
    waiting = inbox(client=1, default=3)
    assert [waiting.submit("a", frame(code=ROUTE)) for _ in range(4)] == [True, False, False, False]
    assert [waiting.submit("a", frame(code=OTHER)) for _ in range(4)] == [True, True, True, False]


def test_frames_that_were_put_back_go_before_later_ones_in_their_order() -> None:
    waiting = inbox()
    for number in range(3):
        waiting.submit("a", frame(number, 1))
    taken = []
    for _ in range(3):
        _, one = waiting.take()
        taken.append(one)
        waiting.charge(MS)
    waiting.submit("a", frame(3, 1))
    waiting.put_back("a", taken)
    assert [serve(waiting)[1][HEAD] for _ in range(4)] == [0, 1, 2, 3]


def test_a_large_debt_outlives_many_small_ones() -> None:
    """Paid debts are removed; otherwise they would displace unpaid ones."""
    shares: Shares[object] = Shares()
    shares.want("always", 10**15)
    shares.want("greedy", 1_000)
    shares.charge(shares.next(), 10**12)
    for number in range(2 * DEBTS_MAX):
        shares.want(number, 1_000)
        assert shares.next() == number
        shares.charge(number, 2_000)
    shares.want("greedy", 1_000)
    shares.want("modest", 1_000)
    assert shares.next() == "modest"


def test_bytes_are_limited_in_all() -> None:
    waiting = inbox(bytes_max=1_000)
    assert waiting.submit("a", frame(body=1_000 - 3 * HEAD))
    assert not waiting.submit("b", frame(body=HEAD + 1))
    assert waiting.submit("b", frame())
    while waiting:
        serve(waiting)
    assert waiting.submit("a", frame(body=1_000 - HEAD))


def test_dropped_requests_leave_the_queues() -> None:
    """The rest of the connection keeps its order, and its room in the queues is free again."""
    waiting = inbox(client=2, default=2)
    for number, code in enumerate([ROUTE, OTHER, ROUTE, OTHER]):
        waiting.submit("gone", frame(number, 1, code))
    waiting.submit("other", frame())
    dropped = waiting.drop("gone", {OTHER})
    assert [one.frame[HEAD:] for one in dropped] == [b"\x00", b"\x02"]
    assert [serve(waiting)[:2] for _ in range(3)].count(("gone", frame(1, 1))) == 1
    assert (len(waiting), waiting.bytes) == (0, 0)
    assert waiting.drop("gone") == []


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([ROUTE, OTHER]), st.sampled_from(["a1", "a2", "b"]), st.integers(1, 300)),
        st.integers(0, 10 * MS),
        st.sampled_from(["a1", "a2", "b"]),
    ),
    max_size=80,
)


@given(steps, st.integers(0, 5), st.integers(0, 5))
def test_each_request_is_served_once_and_in_order(steps: list[Any], client: int, default: int) -> None:
    """Per connection, unless it is dropped. No limit is exceeded by more than one request of each connection."""
    waiting = inbox(client, default, bytes_max=1_000)
    sent: dict[str, list[tuple[int, bool]]] = {"a1": [], "a2": [], "b": []}

    def check_one(cost_ns: int) -> None:
        key, one, refused = serve(waiting, cost_ns)
        number, was_refused = sent[key].pop(0)
        assert refused == was_refused
        assert refused or one[HEAD] == number

    for number, step in enumerate(steps):
        if isinstance(step, int):
            if waiting:
                check_one(step)
        elif isinstance(step, str):
            assert len(waiting.drop(step)) == len(sent[step])
            sent[step].clear()
        else:
            code, key, size = step
            sent[key].append((number, not waiting.submit(key, frame(number, size, code))))
        assert len(waiting) == sum(map(len, sent.values()))
        assert waiting.bytes <= 1_000 + HEAD * len(waiting)
    while waiting:
        check_one(MS)
    assert not any(sent.values())

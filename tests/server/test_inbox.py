"""Frames that wait for control: queues and bounds, turns by what each host has cost, and request codes."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import ROCKETMQ, binary_header, json_header
from interop.harness.wire import frame as frame_of
from rocketns._fast.codec.wire import next_frame
from rocketns.config import NamesrvConfig
from rocketns.errors import MalformedFrame
from rocketns.protocol import command
from rocketns.server.control.inbox import UNKNOWN, Inbox, WaitingFrame, request_code, seems_lookup
from rocketns.server.turns import HostTurns

ROUTE, OTHER = 105, 106
MS = 1_000_000
HEADERS = {ROUTE: json_header(ROUTE), OTHER: json_header(OTHER)}
HEAD = len(frame_of(HEADERS[OTHER]))
BROKERS = ("broker1", "broker2")


def host_of(key: str) -> str:
    """Connections are named by their host and a number: a1."""
    return key.rstrip("0123456789")


class Named(str):
    """A connection that is its name."""

    is_broker = False

    @property
    def host(self) -> str:
        return host_of(self)


class NamedInbox(Inbox):
    """Its connections are given by their names; brokers have registered from those of ``known``."""

    def __init__(self, config: NamesrvConfig, known: Container[str]) -> None:
        super().__init__(config)
        self._known = known

    def submit(self, connection: Any, frame: Any) -> bool:  # type: ignore[override]
        """Whether it is not refused."""
        waiting = WaitingFrame(frame, len(frame), seems_lookup(frame))
        super().submit(self.named(connection), waiting)
        return not waiting.is_refused

    def named(self, name: str) -> Any:
        named = Named(name)
        named.is_broker = name in self._known
        return named

    def park(self, connection: Any) -> list[WaitingFrame]:
        return super().park(self.named(connection))

    def resume(self, connection: Any) -> None:
        super().resume(self.named(connection))

    def take(self) -> Any:
        """The frame whose turn it is, which leaves."""
        connection, waiting = self.next()
        self.remove_first(connection)
        return connection, waiting


def inbox(client: int = 100, default: int = 100, known: Container[str] = ()) -> Any:
    config = NamesrvConfig(client_request_thread_pool_queue_capacity=client, default_thread_pool_queue_capacity=default)
    return NamedInbox(config, known)


def frame(number: int = 0, body: int = 0, code: int = OTHER) -> bytes:
    """A frame with this many bytes of body, which identify it."""
    return frame_of(HEADERS[code], bytes([number]) * body)


def serve(waiting: Any, cost_ns: int = MS) -> Any:
    """One frame: its connection, its bytes, and whether it is refused."""
    key, one = waiting.take()
    waiting.turns.charge(cost_ns)
    return key, one.frame, one.is_refused


def order(waiting: Any, costs: dict[str, int]) -> list[str]:
    """Serve all frames; the order of their connections. ``costs`` gives the cost of a host's or connection's frame."""
    served = []
    while waiting.turns.wanting:
        key, _ = waiting.take()
        waiting.turns.charge(costs.get(key, MS))
        served.append(key)
    return served


@pytest.mark.parametrize(
    ("frames", "costs", "first", "peer", "least", "most"),
    [
        # One of two hosts, or of two connections, costs ten times as much.
        (["a", "b"] * 30, {"a": 10 * MS}, 30, "a", 2, 4),
        (["a1", "a2"] * 30, {"a1": 10 * MS}, 30, "a1", 2, 4),
        # A host with many connections, each new for its frame, delays another host by its share only.
        ([f"many{number}" for number in range(40)] + ["few1"] * 40, {}, 40, "few1", 15, 25),
        # A broker waits for all strangers as for one, and leaves half of the time to them.
        ([f"{chr(97 + number % 20)}{number}" for number in range(40)] + ["broker1"] * 20, {}, 20, "broker1", 8, 12),
        (["stranger"] * 100 + list(BROKERS) * 10, dict.fromkeys(BROKERS, 5 * MS), 24, "stranger", 16, 22),
    ],
    ids=["hosts", "connections", "many connections", "strangers", "brokers"],
)
def test_who_waits_has_its_share_of_the_first_frames_by_what_they_cost(
    frames: list[str], costs: dict[str, int], first: int, peer: str, least: int, most: int
) -> None:
    waiting = inbox(known=BROKERS)
    for one in frames:
        waiting.submit(one, frame())
    assert least <= order(waiting, costs)[:first].count(peer) <= most


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


def test_a_connection_that_comes_back_keeps_its_debt_by_its_host() -> None:
    """An expensive frame, a new connection, another expensive frame: the other host goes first."""
    waiting = inbox()
    waiting.submit("greedy1", frame())
    waiting.submit("modest", frame())
    waiting.submit("modest", frame())
    assert serve(waiting, 100 * MS)[0] == "greedy1"
    waiting.submit("greedy2", frame())
    assert order(waiting, {}) == ["modest", "modest", "greedy2"]


def test_a_newcomer_passes_those_that_were_served() -> None:
    """However much their requests cost, and however many hosts wait again."""
    waiting = inbox(known=BROKERS)
    for number in range(50):
        for _ in range(3):
            waiting.submit(f"h{chr(97 + number % 26)}{'x' * (number // 26)}", frame())
    for _ in range(50):
        serve(waiting, 20 * MS)
    waiting.submit("new", frame())
    assert "new" in [serve(waiting)[0] for _ in range(2)]


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


def test_parked_frames_keep_their_order_and_take_no_turns() -> None:
    """They count apart, those that come meanwhile with them."""
    waiting = inbox()
    for number in range(3):
        waiting.submit("a", frame(number, 1))
    size = waiting.bytes // 3
    assert [one.frame[HEAD] for one in waiting.park("a")] == [2, 1, 0]
    waiting.submit("a", frame(3, 1))
    assert [one.frame[HEAD] for one in waiting.park("a")] == [3]
    waiting.submit("b", frame())
    assert order(waiting, {}) == ["b"]
    assert (bool(waiting.turns.wanting), waiting.bytes, waiting.parked_bytes) == (False, 0, 4 * size)
    waiting.resume("a")
    waiting.submit("a", frame(4, 1))
    assert (waiting.bytes, waiting.parked_bytes) == (5 * size, 0)
    assert [serve(waiting)[1][HEAD] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert (waiting.bytes, waiting.parked_bytes) == (0, 0)


def test_parked_frames_leave_room_in_the_queues() -> None:
    waiting = inbox(client=2, default=2)
    for _ in range(2):
        waiting.submit("slow", frame())
    waiting.park("slow")
    assert [waiting.submit("a", frame()) for _ in range(3)] == [True, True, False]
    waiting.resume("slow")
    assert len(waiting.drop("slow")) == 2
    assert not waiting.submit("a", frame())


def test_too_many_parked_bytes_cost_the_host_with_the_most_its_oldest_and_brokers_only_beyond_half() -> None:
    waiting = inbox(known=BROKERS)
    for peer, frames in [("many1", 2), ("one", 3), ("many2", 2), ("broker1", 4)]:
        for _ in range(frames):
            waiting.submit(peer, frame())
        waiting.park(peer)
    assert waiting.parked_longest() == "many1"
    waiting.drop("many1")
    waiting.drop("one")
    assert waiting.parked_longest() == "broker1"


def test_who_parked_first_is_found_without_a_look_at_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer may park frames on all connections, and be closed for each that comes."""
    waiting, looks = inbox(), 0
    for number in range(1_000):
        waiting.submit(f"many{number}", frame())
        waiting.park(f"many{number}")

    def counted(connection: Named) -> str:
        nonlocal looks
        looks += 1
        return host_of(connection)

    monkeypatch.setattr(Named, "host", property(counted))
    assert (waiting.parked_longest(), looks) == ("many0", 0)


def test_paused_frames_wait_for_all_to_go_on() -> None:
    waiting = inbox()
    for peer in ("a", "b", "a"):
        waiting.submit(peer, frame())
    waiting.pause("a")
    assert order(waiting, {}) == ["b"]
    waiting.submit("a", frame())
    assert not waiting.turns.wanting
    waiting.resume_paused()
    assert order(waiting, {}) == ["a"] * 3


def test_a_large_debt_outlives_many_small_ones() -> None:
    """Hosts without debt are forgotten; the others pay theirs, however many come."""
    turns: HostTurns[str] = HostTurns()
    for host in ("always", "greedy"):
        turns.want(host, host)
        assert turns.next() == host
        turns.charge(10**9)
    turns.withdraw("greedy")
    for number in range(1_000):
        host = f"host{number}"
        turns.want(host, host)
        assert turns.next() == host
        turns.withdraw(host)
        turns.charge(2_000)
    turns.want("greedy", "greedy")
    turns.want("modest", "modest")
    assert turns.next() == "modest"


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


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([ROUTE, OTHER]), st.sampled_from(["a1", "a2", "b"]), st.integers(1, 300)),
        st.integers(0, 10 * MS),
        st.sampled_from(["a1", "a2", "b"]),
    ),
    max_size=80,
)


@given(STEPS, st.integers(0, 5), st.integers(0, 5))
def test_each_request_is_served_once_and_in_order(steps: list[Any], client: int, default: int) -> None:
    """Per connection, unless it is dropped. No limit is exceeded by more than one request of each connection."""
    waiting = inbox(client, default)
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
    while waiting:
        check_one(MS)
    assert not any(sent.values())


def test_connections_that_leave_are_passed_over() -> None:
    """Also while another of their host is being served."""
    waiting = inbox()
    peers = ["x1", "x2", "x3", "other1", "broker1"]
    for peer in peers:
        waiting.submit(peer, frame())
    key, _ = waiting.take()
    gone = [peer for peer in peers if peer not in (key, "x3", "other1")]
    for peer in gone:
        assert len(waiting.drop(peer)) == 1
    waiting.turns.charge(MS)
    assert sorted([key, *order(waiting, {})]) == sorted({key, "x3", "other1"})
    for peer in peers:
        waiting.submit(peer, frame())
    assert sorted(order(waiting, {})) == sorted(peers)


def test_a_broker_that_was_silent_has_saved_nothing() -> None:
    """Nor has a stranger; and what one was served while the other did not wait is not held against it."""
    for first, second in (("broker1", "stranger"), ("stranger", "broker1")):
        waiting = inbox(known=BROKERS)
        for _ in range(100):
            waiting.submit(first, frame())
            serve(waiting)
        for _ in range(20):
            waiting.submit(first, frame())
            waiting.submit(second, frame())
        served = order(waiting, {})
        assert 8 <= served[:20].count(first) <= 12


def test_a_negative_code_of_a_binary_header() -> None:
    """Two bytes with a sign, as the decoder reads them."""
    whole = frame_of(binary_header(-7), b"", ROCKETMQ)
    assert request_code(whole) == command.decode(whole).code == -7


@pytest.mark.parametrize(("code", "expected"), [(105, True), (103, False), (1_050, False), (5_105, False)])
def test_lookups_as_clients_write_them(code: int, expected: bool) -> None:
    assert seems_lookup(frame_of(json_header(code, {"topic": "T"}))) is expected
    assert seems_lookup(frame_of(binary_header(code, {"topic": "T"}), b"", ROCKETMQ)) is expected
    assert not seems_lookup(memoryview(frame_of(json_header(code))))


@pytest.mark.parametrize(
    "header",
    [
        b"{'code':103}",
        b'{"code":103,"code":105}',
        b'{"extFields":{"code":"105"},"code":103}',
        b'{"\\u0063ode":103,"extFields":{"code":105}}',
        b'{"code":105,"extFields":{"a":"' + b"x" * 4_096 + b'"}}',
    ],
)
def test_unusual_headers_are_left_to_the_decoder(header: bytes) -> None:
    """A registration mistaken for a lookup would be dropped with its connection."""
    assert request_code(frame_of(header)) == UNKNOWN


NAMES = st.sampled_from(["code", "Code", "c\\u006fde", "extFields", "opaque", "x"])
VALUES = st.recursive(
    st.sampled_from(["105", "103", '"103"', "1.0", "null", "-1", '"code"', "'code'"]),
    lambda inner: st.lists(st.tuples(NAMES, inner), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=4), st.sampled_from(["", " "]))
def test_a_guess_is_the_decoders(pairs: list[tuple[str, str]], space: str) -> None:
    """The header has no code, or cannot be decoded."""
    whole = frame_of(("{" + ",".join(f'{space}"{name}":{value}' for name, value in pairs) + "}").encode())
    assert next_frame(whole, 0, 1 << 24) == len(whole)
    try:
        decoded = command.decode(whole).code
    except (MalformedFrame, json.JSONDecodeError):
        return
    assert request_code(whole) in (UNKNOWN, decoded) or decoded == 0

"""A client's connection is as if the relay were not there, whatever the own half or a hostile peer does."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import eventually
from rocketns.shadow.relay import relay
from rocketns.shadow.relay.ends import READ_BYTES_MAX, Leg, PlainClient
from rocketns.shadow.relay.frames import LITTLE_BYTES, Account, BufferBudget, Cutter, FrameHead, RelayedFrame, head_of
from rocketns.shadow.relay.pairing import SAME_MAX, OpenRequests, Pairing, RelayCounts
from rocketns.shadow.relay.relay import Relay, Upstream
from tests.shadow.scene import (
    FRAME_BYTES_MAX,
    STUCK_BYTES_MAX,
    WITHIN_S,
    Half,
    Scene,
    answer,
    asked,
    left,
    passed,
    request,
)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UPSTREAM_WITHIN_S", "OWN_WITHIN_S"):
        monkeypatch.setattr(relay, name, WITHIN_S)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()


MIB = 1024 * 1024


def test_parts_of_frames_pass_both_ways_before_the_frames_end(scene: Scene) -> None:
    client, up, own = scene.connected()
    up.send(answer(7, b"x" * 1000)[:500])
    client.expect(answer(7, b"x" * 1000)[:500])
    part = request(7, size=100)[:50]
    client.send(part)
    up.expect(part)
    own.expect(part)


def test_answers_in_another_order_are_paired_by_their_opaque_and_judged_if_they_differ(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7) + request(8))
    up.send(answer(8, b"8") + answer(7, b"theirs"))
    own.send(answer(7, b"ours") + answer(8, b"8"))
    client.expect(answer(8, b"8") + answer(7, b"theirs"))
    eventually(lambda: scene.counts.equal == 2 and scene.judged)
    pair = scene.judged[0]
    assert (pair.request, pair.upstream, pair.own) == (request(7), answer(7, b"theirs"), answer(7, b"ours"))


def test_two_open_requests_with_one_opaque_are_not_compared_when_their_answers_differ(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7) + request(7))
    up.send(answer(7, b"1") + answer(7, b"2"))
    own.send(answer(7, b"2") + answer(7, b"1"))
    client.expect(answer(7, b"1") + answer(7, b"2"))
    eventually(lambda: scene.counts.skipped == 2)
    assert not scene.judged


def test_a_pair_that_lacks_the_own_answer_is_judged_as_missing_it(scene: Scene) -> None:
    client, up, _ = scene.connected()
    asked(client, up, request(7))
    up.send(answer(7))
    client.expect(answer(7))
    scene.advance(11)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(answer(7), None)]


def test_a_request_of_the_upstream_passes_and_one_of_the_half_does_not(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.send(request(1, code=905, flag=2))
    up.send(request(2, code=905, flag=2))
    client.expect(request(2, code=905, flag=2))


def test_a_client_s_half_close_reaches_both_servers_and_answers_still_come(scene: Scene) -> None:
    client, up, own = scene.connected()
    client.socket.shutdown(socket.SHUT_WR)
    assert up.ends()
    assert own.ends()
    up.send(answer(7))
    client.expect(answer(7))


def test_ends_and_resets_reach_the_other_side_as_what_they_are(scene: Scene) -> None:
    client, up, _ = scene.connected()
    client.reset()
    assert up.is_reset()
    client, up, _ = scene.connected()
    up.reset()
    assert client.is_reset()
    client, up, _ = scene.connected()
    up.close()
    assert client.ends()


def test_an_end_by_the_half_alone_is_counted_and_the_client_stays(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.close()
    eventually(lambda: scene.counts.abandoned == 1)
    asked(client, up, request(7))


def test_a_client_s_connection_is_closed_where_the_upstream_takes_none(scene: Scene) -> None:
    scene.up.close()
    assert scene.connect().ends()
    assert scene.relay.upstream.trouble


def test_garbage_passes_and_the_half_gets_no_more_of_it(scene: Scene) -> None:
    client, up, own = scene.connected()
    client.send(b"GET / HTTP/1.1\r\n\r\n")
    up.expect(b"GET / HTTP/1.1\r\n\r\n")
    own.expect(b"GET / HTTP/1.1\r\n\r\n")
    assert own.ends()
    up.send(b"HTTP/1.1 400 no\r\n\r\n")
    client.expect(b"HTTP/1.1 400 no\r\n\r\n")
    passed(client, up)
    assert scene.counts.garbage == 1


def test_garbage_of_the_upstream_passes_as_it_is(scene: Scene) -> None:
    client, up, _ = scene.connected()
    asked(client, up, request(7))
    up.send(b"\xff" * 100)
    client.expect(b"\xff" * 100)
    passed(client, up, 8)
    assert (scene.counts.garbage, scene.counts.left, scene.judged) == (1, 1, [])


def test_garbage_of_the_half_reaches_nobody(scene: Scene) -> None:
    client, up, own = scene.connected()
    own.send(b"\xff" * 100)
    eventually(lambda: scene.counts.garbage == 1)
    passed(client, up)
    assert own.ends()


def test_an_answer_of_the_upstream_that_comes_late_passes(scene: Scene) -> None:
    """It is judged as missing, and goes out when it comes, once."""
    client, up, own = scene.connected()
    asked(client, up, request(7))
    own.send(answer(7))
    (session,) = scene.relay.sessions
    eventually(lambda: any(one.own_at for one in session.requests))
    scene.advance(11)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(None, answer(7))]
    up.send(answer(7, b"late"))
    client.expect(answer(7, b"late"))
    passed(client, up, 8)


def test_an_upstream_that_drips_reaches_the_client_byte_by_byte(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    own.send(answer(7))
    for byte in answer(7):
        up.send(bytes([byte]))
        client.expect(bytes([byte]))
    eventually(lambda: scene.counts.equal == 2)


def test_tls_passes_unread_and_the_half_gets_nothing_of_it(scene: Scene) -> None:
    client = scene.connect()
    up = scene.up.accept()
    client.send(b"\x16\x03\x01\x02\x00hello")
    up.expect(b"\x16\x03\x01\x02\x00hello")
    up.send(b"\x16\x03\x03 server")
    client.expect(b"\x16\x03\x03 server")
    assert (scene.counts.tls, scene.counts.garbage) == (1, 0)


def test_a_half_that_does_not_run_is_not_missed_and_joins_at_the_next_frame_when_it_does(scene: Scene) -> None:
    port, scene.half.port = scene.half.port, None
    client = scene.connect()
    up = scene.up.accept()
    asked(client, up, request(7))
    scene.half.port = port
    scene.advance(2)
    client.send(request(8)[:10])
    up.expect(request(8)[:10])
    own = scene.own.accept()
    client.send(request(8)[10:])
    own.expect(request(8))


def test_a_broker_s_connection_that_the_half_lost_is_said(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7, code=103))
    eventually(lambda: scene.counts.requests == 2)
    own.close()
    eventually(lambda: scene.half.unsettled)


def test_the_upstream_is_told_the_client_s_address_where_it_takes_that() -> None:
    scene = Scene(proxy_protocol=True)
    try:
        client = scene.connect()
        port = client.socket.getsockname()[1]
        scene.up.accept().expect(f"PROXY TCP4 127.0.0.1 127.0.0.1 {port} {scene.port}\r\n".encode())
    finally:
        scene.close()


def test_an_answer_of_the_half_that_comes_after_the_client_left_is_compared(scene: Scene) -> None:
    client, up, own = scene.connected()
    asked(client, up, request(7))
    up.send(answer(7, b"theirs"))
    client.expect(answer(7, b"theirs"))
    left(client, up)
    own.expect(request(7))
    assert own.ends()
    own.send(answer(7, b"ours"))
    eventually(lambda: scene.counts.open == 0)
    assert [(pair.upstream, pair.own) for pair in scene.judged] == [(answer(7, b"theirs"), answer(7, b"ours"))]
    assert scene.counts.left == 0


def test_only_so_many_connections_stay_without_their_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LINGERING_MAX", 0)
    scene = Scene()
    client, up, _ = scene.connected()
    passed(client, up)
    left(client, up)
    eventually(lambda: (scene.counts.left, scene.counts.open) == (1, 0))
    scene.close()


def test_a_half_that_reads_nothing_is_given_up_and_delays_nothing() -> None:
    budget = BufferBudget(4 * 1024 * 1024)
    scene = Scene(budget)
    try:
        client, up, _ = scene.connected()
        large = request(7, size=8 * 1024 * 1024)
        client.socket.setblocking(False)
        sent = received = 0
        for _ in range(4):  # 32 MiB: more than two sockets and the budget hold
            at = 0
            while at < len(large):
                try:
                    at += client.socket.send(large[at : at + 65_536])
                except BlockingIOError:
                    received += len(up.socket.recv(1 << 20))
            sent += at
        while received < sent:
            received += len(up.socket.recv(1 << 20))
        assert budget.used <= budget.most
        eventually(lambda: scene.counts.abandoned >= 1)
    finally:
        scene.close()


def test_a_server_is_not_read_while_its_client_does_not_read(scene: Scene) -> None:
    _, up, _ = scene.connected()
    assert scene.sent_until_stopped(up, answer(7, b"x" * 1_000_000), "up") < STUCK_BYTES_MAX


def test_a_client_is_not_read_while_the_upstream_does_not_read(scene: Scene) -> None:
    client, _, _ = scene.connected()
    assert scene.sent_until_stopped(client, request(7, size=1_000_000), "client") < STUCK_BYTES_MAX


def head(opaque: int) -> FrameHead:
    return FrameHead(opaque, 105, is_answer=False, is_oneway=False)


def test_only_so_many_open_requests_with_one_opaque_are_looked_through() -> None:
    """Each further one would cost as many steps as there are: a second of everybody's time for 100 KB of requests."""
    pairing = Pairing(RelayCounts(), lambda _: True, lambda: 0.0, lambda: 0.0)
    requests = OpenRequests(1, "peer", Account(BufferBudget()), pairing)
    taken = [requests.add(head(7), b"") for _ in range(SAME_MAX + 1)]
    assert taken == [True] * SAME_MAX + [False]
    assert requests.add(head(8), b"")


def test_connections_that_keep_all_they_may_leave_room_for_usual_ones() -> None:
    budget = BufferBudget(256 * MIB)
    for _ in range(100):
        account = Account(budget)
        account.charge(1000)
        while account.charge(64 * 1024):
            pass
    assert not Account(budget).charge(MIB)
    assert Account(budget).charge(LITTLE_BYTES)


@given(st.lists(st.integers(0, 3000), max_size=5), st.integers(1, 900), st.integers(0, 6000))
def test_a_frame_without_room_is_named_by_its_head_and_what_is_kept_is_accounted_for(
    sizes: list[int], piece: int, most: int
) -> None:
    account = Account(BufferBudget(10 * most), most)
    cutter = Cutter(account, FRAME_BYTES_MAX)
    frames = [request(number, size=size) for number, size in enumerate(sizes)]
    data = b"".join(frames)
    found: list[RelayedFrame] = []
    for at in range(0, len(data), piece):
        found += cutter.feed(data[at : at + piece])
    assert [one.data for one in found if one.data] == [frames[at] for at, one in enumerate(found) if one.data]
    assert [one.head.opaque for one in found if one.head] == [at for at, one in enumerate(found) if one.head]
    assert len(found) == len(frames)
    assert account.used == sum(len(one.data or b"") for one in found)
    assert not cutter.is_amid


def test_a_connection_that_sends_much_is_taken_in_turns(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    charge = Leg.data_received

    def noted(leg: Leg, data: bytes) -> None:
        sizes.append(len(data))
        charge(leg, data)

    monkeypatch.setattr(Leg, "data_received", noted)
    client, up, _ = scene.connected()
    up.send(b"".join(request(opaque) for opaque in range(20_000)))
    client.read(READ_BYTES_MAX * 20)
    assert 0 < max(sizes) <= READ_BYTES_MAX


FAULTS = ("none", "hangs", "drips", "sends garbage", "is cut", "is killed")
ASKED, ROUNDS = 24, 3
CUT_EVERY = 100  # requests


class WildServer:
    """A server that answers in any order, in pieces of any size. It ends its connections each ``cuts`` requests.

    The first opaque of a connection, in steps of ASKED, says which of ``faults`` it has. ``sent``: its bytes by that
    opaque; ``resets``: those that it reset.
    """

    def __init__(self, name: bytes, draw: random.Random, faults: tuple[str, ...] = ("none",), cuts: int = 0) -> None:
        self._name, self._draw, self._faults, self._cuts, self._came = name, draw, faults, cuts, 0
        self._writers: set[asyncio.StreamWriter] = set()
        self.sent: dict[int, bytearray] = {}
        self.resets: set[int] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        waiting: list[int | None] = []  # None: there are no more
        came = asyncio.Event()
        answering = asyncio.ensure_future(self._answer(writer, waiting, came))
        try:
            while True:
                length = await reader.readexactly(4)
                head = head_of(length + await reader.readexactly(struct.unpack(">i", length)[0]))
                assert head is not None
                waiting.append(head.opaque)
                came.set()
                self._came += 1
                if self._cuts and self._came % self._cuts == 0:
                    self._cut()
        except (asyncio.IncompleteReadError, ConnectionError):
            waiting.append(None)
            came.set()
            await answering
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, waiting: list[int | None], came: asyncio.Event) -> None:
        draw, answered, after = self._draw, 0, self._draw.randrange(1, ASKED)
        await came.wait()
        number = waiting[0] or 0
        sent, fault = self.sent.setdefault(number, bytearray()), self._faults[number // ASKED % len(self._faults)]
        while waiting != [None]:
            await came.wait()
            for _ in range(draw.randrange(20)):
                await asyncio.sleep(0)
            opaques = [one for one in waiting if one is not None]
            some = draw.sample(opaques, draw.randint(0, len(opaques)))
            waiting[:] = [one for one in waiting if one not in some]
            if not waiting:
                came.clear()
            answered += len(some)
            data = b"".join(answer(opaque, b"drip" if fault == "drips" else self._body()) for opaque in some)
            fails = answered >= after and fault not in ("none", "drips")
            if fails:
                data = {"hangs": b"", "sends garbage": draw.randbytes(1000)}.get(fault, data[:-1])
            at = 0
            while at < len(data):
                piece = data[at : at + (1 if fault == "drips" else draw.choice((1, 7, 100, 1000, 60_000)))]
                sent += piece
                writer.write(piece)
                at += len(piece)
                if draw.random() < 0.3:
                    await asyncio.sleep(0)
            if fails:
                break
        if fault == "is killed":
            self.resets.add(number)
            writer.transport.abort()

    def _body(self) -> bytes:
        return self._name * self._draw.choice((1, 1, 400, 20_000))

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


async def counting_client(port: int, number: int, draw: random.Random) -> bytes:
    """What it is answered to all its requests, which come in parts, until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = bytearray()
    try:
        for opaque in range(number, number + ASKED):
            data = request(opaque, size=draw.choice((0, 10, 70_000)))
            cut = draw.randrange(len(data))
            for part in (data[:cut], data[cut:]):
                writer.write(part)
                await asyncio.sleep(0)
        writer.write_eof()
        while data := await reader.read(100_000):
            received += data
    except ConnectionError:
        pass
    finally:
        writer.close()
    return bytes(received)


@pytest.mark.parametrize("seed", range(3))
async def test_each_client_gets_the_bytes_of_the_upstream_and_no_others_whatever_both_servers_do(seed: int) -> None:
    """The own half is cut off again and again."""
    draw = random.Random(seed)
    up, own = WildServer(b"u", draw, FAULTS), WildServer(b"o", draw, cuts=CUT_EVERY)
    servers = [await asyncio.start_server(one.serve, "127.0.0.1", 0) for one in (up, own)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    relay = Relay(Upstream("127.0.0.1", ports[0]), Half(ports[1]), lambda _: True,
                  frame_bytes_max=FRAME_BYTES_MAX, connections_max=100)  # fmt: skip
    relay.start()
    listening = await asyncio.get_running_loop().create_server(lambda: PlainClient(relay), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    numbers = [number * ASKED for number in range(1, len(FAULTS) * ROUNDS + 1)]
    async with asyncio.timeout(WITHIN_S):
        found = await asyncio.gather(*(counting_client(port, number, draw) for number in numbers))
        while any(session.up for session in relay.sessions):
            await asyncio.sleep(0)
    for number, received in zip(numbers, found, strict=True):
        sent = bytes(up.sent[number])
        was_cut = number in up.resets and sent.startswith(received)
        assert received == sent or was_cut, FAULTS[number // ASKED % len(FAULTS)]
    assert up.resets
    assert relay.counts.abandoned > 0
    assert relay.counts.requests >= len(FAULTS) * ROUNDS * 2
    relay.stop()
    assert relay.budget.used == 0
    for server in [*servers, listening]:
        server.close()

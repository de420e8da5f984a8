"""The remoting client: how it reads answers, which connections it opens, and how it matches answers to requests."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.__main__ import main
from rocketns.client import answers, connection, quota, resolving
from rocketns.client.answers import UNASKED_BYTES_MAX, UNASKED_FRAMES_MAX, UNASKED_WINDOW_S, Answers
from rocketns.client.connection import NotSentError
from rocketns.client.quota import REST_S, REST_S_MAX, ConnectionQuota
from rocketns.client.reading import HEADER_BYTES_MAX, AnswerReader
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.collect.settings import Named, every_named
from rocketns.errors import MalformedFrame
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request
from tests.client.peers import CLOSED, HERE, WAIT_S, peer, remoting, serving
from tests.support.receiver import full_port


@pytest.mark.parametrize(
    ("ips", "expected"),
    [(["10.0.0.1", "10.0.0.2"], ["10.0.0.1:9876", "10.0.0.2:9876"]), (["10.0.0.1", "::1"], ["ns:9876"]),
     (["::1", "::2"], ["[::1]:9876", "[::2]:9876"]), ([], ["ns:9876"])],
)  # fmt: skip
def test_each_address_of_a_name_is_asked(ips: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both families those of IPv4, which Java's clients prefer: a server may listen at the one only."""

    async def found(_host: str, _port: int) -> list[str]:
        if not ips:
            raise OSError("no such name")
        return ips

    monkeypatch.setattr(resolving, "addresses_of", found)
    assert asyncio.run(resolving.every_address("ns:9876")) == expected
    named = asyncio.run(every_named([Named("east", "ns:9876")]))
    assert [one.addr for one in named] == expected
    assert len({one.ns for one in named}) == len(expected)
    assert main(["diff", "ns:9876", "--timeout", "0.001s"]) == 2


async def test_its_own_address_is_not_asked() -> None:
    """All name servers of a cluster may have the same list."""
    own = ["127.0.0.1:9876", "localhost:9876", *(["[::1]:9876"] if socket.has_ipv6 else [])]
    others = ["127.0.0.1:9877", "192.0.2.1:9876", "no-such-host.invalid:9876", f"{'a' * 64}.invalid:9876"]
    assert await others_and_own(others + own, 9876) == (others, own)


A, B = "10.0.0.1", "10.0.0.2"


def test_so_many_to_one_host_at_once() -> None:
    of = ConnectionQuota(2)
    of.acquire(A, 0)
    assert of.exceeded(A, 10) == ""
    of.acquire(A, 10)
    assert "outgoingConnectionsPerHostMax" in of.exceeded(A, 20)
    assert of.exceeded(B, 20) == ""
    of.release(A)
    assert of.exceeded(A, 20) == ""


def test_so_many_to_one_host_in_a_second() -> None:
    """Also where each of them ended at once."""
    of = ConnectionQuota(2)
    for now_s in (0.0, 0.5):
        assert of.exceeded(A, now_s) == ""
        of.acquire(A, now_s)
        of.release(A)
    assert "in a second" in of.exceeded(A, 0.9)
    assert of.exceeded(A, 1.0) == ""


def test_an_address_that_fails_rests_twice_as_long_each_time() -> None:
    of, now_s, waits = ConnectionQuota(9), 0.0, []
    for _ in range(9):
        of.failed(A, "refused", now_s)
        began_s = now_s
        while of.resting(A, now_s) == "refused":
            now_s += 0.5
        waits.append(now_s - began_s)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 64, 64]
    assert (REST_S, REST_S_MAX) == (1, 64)
    of.succeeded(A)
    of.failed(A, "refused", now_s)
    assert of.resting(A, now_s + 1) == ""


def test_what_a_quota_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is forgotten."""
    monkeypatch.setattr(quota, "REMEMBERED_MAX", 3)
    of = ConnectionQuota(9)
    for port in range(9):
        of.failed(f"{A}:{port}", "refused", 0)
        of.acquire(f"host-{port}", 0)
        of.release(f"host-{port}")
    assert [len(table) for table in (of._rests, of._opened, of._used)] == [3, 3, 0]
    assert not of.resting(f"{A}:0", 0)
    assert of.resting(f"{A}:8", 0)


MB = 1 << 20


class Stream:
    """A reader whose requests 1, 2 … wait for answers of up to a megabyte."""

    def __init__(self, waiting: int = 0, bytes_max: int = MB) -> None:
        self.now_s = 0.0
        self.answers = Answers(lambda: self.now_s)
        for opaque in range(1, waiting + 1):
            self.answers.expect(opaque, lambda answer: answer, bytes_max)
        self.reader = AnswerReader(self.answers.wants, 16 * MB)

    def feed(self, data: bytes, step: int | None = None) -> list[int]:
        parts = [data] if step is None else [data[at : at + step] for at in range(0, len(data), step)]
        return [opaque for part in parts for opaque, _ in self.reader.feed(part)]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Futures belong to a loop."""
    made = asyncio.new_event_loop()
    asyncio._set_running_loop(made)
    yield made
    asyncio._set_running_loop(None)
    made.close()


def answer(opaque: int, body: bytes = b"", flag: int = 1) -> bytes:
    return frame(json_header(0, opaque=opaque, flag=flag), body)


@pytest.mark.parametrize("step", [1, 7, 100, None])
@pytest.mark.usefixtures("loop")
def test_answers_are_found_in_pieces_of_any_size(step: int | None) -> None:
    stream = Stream(waiting=3)
    binary = frame(binary_header(0, None, opaque=3, flag=1), b"b" * 50, ROCKETMQ)
    data = answer(9) + answer(2, b"x" * 300) + answer(1, flag=0) + answer(1) + binary + answer(2)
    assert stream.feed(data, step) == [2, 1, 3]
    assert stream.reader.charged_bytes == 0


@pytest.mark.usefixtures("loop")
def test_a_frame_that_nobody_asked_for_is_not_collected() -> None:
    """Of its bytes only those of the header are kept, and the frame behind it is found."""
    stream = Stream(waiting=1)
    junk = answer(9, bytes(MB - 200))
    assert stream.feed(junk[:50]) == []
    assert stream.reader.charged_bytes == 50
    assert stream.feed(junk[50 : MB // 2]) == []
    assert stream.reader.charged_bytes == 0
    assert stream.feed(junk[MB // 2 :] + answer(1)) == [1]


@pytest.mark.usefixtures("loop")
def test_so_many_frames_that_nobody_asked_for_are_skipped_in_a_minute() -> None:
    stream = Stream()
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    stream.now_s = UNASKED_WINDOW_S
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    with pytest.raises(MalformedFrame, match="nobody asked for"):
        stream.feed(answer(9))


@pytest.mark.usefixtures("loop")
def test_so_many_bytes_that_nobody_asked_for_are_skipped_in_a_minute() -> None:
    """A larger frame ends the connection with its header."""
    head = struct.pack(">i", UNASKED_BYTES_MAX)
    with pytest.raises(MalformedFrame, match="nobody asked for"):
        Stream().feed(head + answer(9)[4:])


@pytest.mark.usefixtures("loop")
def test_a_late_answer_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only once, and only so many are remembered."""
    monkeypatch.setattr(answers, "LATE_MAX", 2)
    stream = Stream(waiting=3)
    stream.feed(answer(9) * UNASKED_FRAMES_MAX)
    for opaque in (1, 2, 3):
        stream.answers.forget(opaque)
    assert stream.feed(answer(3) + answer(2)) == []
    for again in (1, 2):
        with pytest.raises(MalformedFrame):
            stream.feed(answer(again))


@pytest.mark.usefixtures("loop")
def test_an_answer_has_a_bound() -> None:
    stream = Stream(waiting=1, bytes_max=1_000)
    with pytest.raises(MalformedFrame, match="1000"):
        stream.feed(answer(1, bytes(1_000))[:200])


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0", b"\xff\xff\xff\xff", struct.pack(">i", 16 * MB), frame(b"{}"), frame(b'{"flag":1}'),
        frame(b'{"opaque":1,"opaque":2,"flag":1}'), frame(b'{"opaque":12345678901,"flag":1}'), frame(b"x" * 5, b"", 1),
        frame(b"{}", b"", 2), struct.pack(">iI", HEADER_BYTES_MAX + 100, HEADER_BYTES_MAX + 1), b"\0\0\0\x08\0\0\0\x09",
    ],
    ids=["empty", "negative", "too large", "no opaque", "flag only", "two opaques", "no int", "short binary", "type",
         "long header", "header beyond frame"],
)  # fmt: skip
@pytest.mark.usefixtures("loop")
def test_an_invalid_frame_closes_the_connection(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        Stream(waiting=1).feed(data)


@pytest.mark.parametrize("remark", ['"opaque":9,', '{"opaque": 9}', "\\"])
@pytest.mark.usefixtures("loop")
def test_the_opaque_is_that_of_the_decoder(remark: str) -> None:
    """Texts in an answer do not change it."""
    stream = Stream(waiting=1)
    fields = {"code": 1, "extFields": {"opaque": "3"}, "flag": 1, "opaque": 1, "remark": remark}
    header = json.dumps(fields, separators=(",", ":")).encode()
    assert command.decode(frame(header)).opaque == 1
    assert stream.feed(frame(header)) == [1]


@pytest.mark.parametrize("colon", [": ", " :", " :\t"])
@pytest.mark.usefixtures("loop")
def test_a_json_header_may_have_blanks(colon: str) -> None:
    """As a proxy or another JSON writer makes it. Texts in it change nothing."""
    stream = Stream(waiting=2)
    fields = {"opaque": 2, "extFields": {"opaque": "1"}, "remark": '"opaque": 1, ', "flag": 1, "code": 0}
    header = json.dumps(fields, separators=(" ,", colon), indent=1).encode()
    assert command.decode(frame(header)).opaque == 2
    assert stream.feed(frame(header)) == [2]


async def settled(client: RemotingClient, connections: int) -> None:
    """Wait until nothing is being opened; then check the number of connections."""
    while client._opening:
        await asyncio.wait(client._opening)
    await asyncio.sleep(0)
    assert len(client._connections) == connections


async def test_one_connection_carries_everything() -> None:
    """B192: also the frames sent before it is open, in order."""
    async with remoting() as client, peer() as one:
        for number in range(10):
            client.invoke_oneway(one.addr, b"%d" % number, HERE)
        await one.until(lambda: one.received == b"0123456789")
        client.invoke_oneway(one.addr, b"!", HERE)
        await one.until(lambda: one.received == b"0123456789!")
        assert len(one.connections) == 1


async def test_a_new_connection_after_the_last_one_ended() -> None:
    """B192: a broker that was restarted is notified again."""
    async with remoting() as client, peer() as one:
        client.invoke_oneway(one.addr, b"a", HERE)
        await one.until(lambda: one.received == b"a")
        one.connections[0].close()
        while client._connections:
            await asyncio.sleep(0)
        client.invoke_oneway(one.addr, b"b", HERE)
        await one.until(lambda: one.received == b"ab")
        assert len(one.connections) == 2


async def test_frames_that_wait_for_a_connection_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: the rest is dropped."""
    monkeypatch.setattr(connection, "UNSENT_FRAMES_MAX", 3)
    async with remoting() as client, peer() as one:
        for number in range(9):
            client.invoke_oneway(one.addr, b"%d" % number, HERE)
        await one.until(lambda: one.received == b"012")


async def test_bytes_that_a_peer_does_not_read_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B192: some frames are dropped whole, none is cut."""
    monkeypatch.setattr(connection, "UNSENT_BYTES_MAX", 100_000)
    async with remoting() as client:
        stop = asyncio.Event()

        async def idle(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await stop.wait()

        async with peer(idle) as one:
            client.invoke_oneway(one.addr, b"x", HERE)
            await one.until(lambda: len(one.connections) == 1)
            await settled(client, 1)
            (only,) = client._connections.values()
            accepted = 0
            while only.send(b"x" * 100_000):
                accepted += 1
                assert accepted < 1000
            assert only._transport is not None
            assert only._transport.get_write_buffer_size() <= 200_000
            stop.set()


async def test_connections_are_bounded() -> None:
    """rocketns.outgoingConnectionsMax: nothing is sent to further addresses while all connections are in use."""
    async with remoting(outgoing_connections_max=2) as client, peer() as one, peer() as two, peer() as three:
        asking = [asyncio.ensure_future(client.invoke(each.addr, 1, b"a", WAIT_S)) for each in (one, two)]
        await one.until(lambda: one.received == b"a")
        await two.until(lambda: two.received == b"a")
        with pytest.raises(NotSentError, match="outgoingConnectionsMax"):
            await client.invoke(three.addr, 1, b"a", WAIT_S)
        assert three.connections == []
        client.close()
        await asyncio.gather(*asking, return_exceptions=True)


async def test_names_of_hosts_share_their_announcers_account() -> None:
    """A peer can make up any number of names."""
    async with remoting(outgoing_connections_per_host_max=2) as client:
        for number in range(9):
            client.invoke_oneway(f"name-{number}.invalid:1", b"a", HERE)
        assert len(client._connections) == 2


def lookup(topic: str = "T") -> tuple[int, bytes]:
    return encode_request(105, {"topic": topic}, SerializeType.JSON)


def response(opaque: int, flag: int = 1) -> bytes:
    return frame(json_header(17, {"for": str(opaque)}, opaque=opaque, flag=flag))


async def ask(client: RemotingClient, count: int, say: Callable[[list[int]], bytes]) -> list[object]:
    """Send some requests at once to a peer that replies with given bytes; the answers by number, or errors."""
    requests = [lookup() for _ in range(count)]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _, sent in requests:
            assert await reader.readexactly(len(sent)) == sent
        writer.write(say([opaque for opaque, _ in requests]))
        await writer.drain()

    async with peer(serve) as one:
        asked = (client.invoke(one.addr, opaque, sent, WAIT_S) for opaque, sent in requests)
        found = await asyncio.gather(*asked, return_exceptions=True)
    return [answer if isinstance(answer, BaseException) else answer.ext("for") == str(opaque)
            for answer, (opaque, _) in zip(found, requests, strict=True)]  # fmt: skip


async def test_answers_in_any_order() -> None:
    """B248: each goes to the request with its number."""
    async with remoting() as client:
        assert await ask(client, 5, lambda opaques: b"".join(map(response, reversed(opaques)))) == [True] * 5


@pytest.mark.parametrize(
    "garbage",
    [b"\xff" * 20, frame(b"{nonsense"), b"\0\0\0\x00", b"\0\0\0\x08\x05\0\0\0abcd"],
    ids=["length", "header", "empty", "type"],
)
async def test_garbage_ends_the_connection(garbage: bytes) -> None:
    """B248: the connection closes, and every request that waits on it fails."""
    async with remoting() as client:
        for found in await ask(client, 2, lambda _: garbage):
            assert isinstance(found, NotSentError)
            assert "ended" in str(found)
        assert client._connections == {}


async def test_no_answer_in_time() -> None:
    """B248: the connection stays for others."""
    is_first = iter([True])
    serve = serving(lambda request: answer(request.opaque) if next(is_first, False) else b"")
    async with remoting() as client, peer(serve) as one:
        await client.invoke(one.addr, *lookup(), WAIT_S)  # however long connecting takes
        with pytest.raises(NotSentError, match="no answer"):
            await client.invoke(one.addr, *lookup(), 0.05)
        (connection,) = client._connections.values()
        assert not connection.answers


@pytest.mark.parametrize("addr", [CLOSED, "full", "nonsense", "a\0b:1"])
async def test_nobody_to_answer(addr: str) -> None:
    """B248: a failed connection is reported at once."""
    with full_port() as full:
        async with remoting(connect_timeout_s=0.3) as client:
            with pytest.raises(NotSentError, match=r"connecting to .* failed|no answer"):
                await client.invoke(addr if addr != "full" else full, *lookup(), WAIT_S)
            assert client._connections == {}


async def test_an_address_that_rests_is_reported_with_what_it_failed_by() -> None:
    """So that whoever shows the reason shows the same until something changes."""
    async with remoting() as client:
        reasons = []
        for _ in range(2):
            with pytest.raises(NotSentError) as caught:
                await client.invoke(CLOSED, *lookup(), WAIT_S)
            reasons.append(str(caught.value))
        assert "Connect call failed" in reasons[0]
        assert reasons[1] == reasons[0]

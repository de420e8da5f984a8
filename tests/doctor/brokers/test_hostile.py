"""Peers that hang, drip, lie and flood cost the doctor a bounded time and memory, and it says what it saw."""

from __future__ import annotations

import asyncio
import itertools
import struct
import time
import tracemalloc

import pytest

from interop.harness.wire import frame, json_header
from rocketns.doctor.asking.brokers import one
from rocketns.doctor.facts.reach import Outcome
from rocketns.doctor.running import Report
from rocketns.protocol.command import RemotingCommand, decode
from tests.client.peers import Serve
from tests.doctor.counting import FakeBroker, FakeNameServer, as_json, listening, topic
from tests.doctor.examining import TIMEOUT_S, examine

# A peer that says nothing is left after this time. Nobody else may need so long on a busy machine.
SILENT_S = 2.0
WITHIN_S = 60.0
MEMORY_MAX = 48 * 1024 * 1024
FRAME_BYTES = 16_777_216
MEGABYTE = bytes(1 << 20)


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for byte in frame(json_header(0, opaque=1, flag=1), b"{}" * 1000):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def send_garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 100)
    writer.close()


async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Frames that nobody asked for, without an end."""
    whole = frame(json_header(0, opaque=-1, flag=1), MEGABYTE)
    while not writer.is_closing():
        writer.write(whole)
        await writer.drain()


def send_huge(size: int) -> Serve:
    """The right header, and a length of any size."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _request(reader)
        header = json_header(0, opaque=request.opaque, flag=1)
        writer.write(struct.pack(">iI", 4 + len(header) + size, len(header)) + header)
        while not writer.is_closing():
            writer.write(MEGABYTE)
            await writer.drain()

    return serve


async def _request(reader: asyncio.StreamReader) -> RemotingCommand:
    length = await reader.readexactly(4)
    return decode(length + await reader.readexactly(int.from_bytes(length)))


async def examined(serve: Serve, timeout_s: float) -> Report:
    broker, name_server = FakeBroker(), FakeNameServer()
    async with listening(name_server), listening(broker, serve=serve):
        name_server.shows(broker)
        return await examine(name_server, timeout_s=timeout_s, topics=("Orders",), groups=("readers",))


@pytest.mark.parametrize(
    ("serve", "outcome"),
    [(hang, Outcome.SILENT), (drip, Outcome.SILENT), (close, Outcome.CLOSED), (speak_http, Outcome.OTHER_PROTOCOL),
     (send_garbage, Outcome.OTHER_PROTOCOL), (flood, Outcome.OTHER_PROTOCOL),
     (send_huge(1 << 30), Outcome.OTHER_PROTOCOL)],
    ids=["hangs", "drips", "closes", "HTTP", "garbage", "floods", "huge frame"],
)  # fmt: skip
def test_hostile_broker_costs_little_and_is_told_apart(serve: Serve, outcome: Outcome) -> None:
    tracemalloc.start()
    began_s = time.monotonic()
    try:
        report = asyncio.run(examined(serve, SILENT_S if outcome is Outcome.SILENT else TIMEOUT_S))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (found,) = report.facts.addresses.values()
    assert found.outcome is outcome
    assert time.monotonic() - began_s < WITHIN_S
    assert peak < MEMORY_MAX


DEEP = b"[" * 50_000 + b"]" * 50_000
UPTIME = "[ 1 days, 2 hours, 3 minutes, 4 seconds ]"
LIES: dict[str, bytes] = {
    "deep": b'{"table":' + DEEP + b"}",
    "deep objects": b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    "no JSON": b"\xff\xfe\x00" * 1000,
    "a number": b"17",
    "null": b"null",
    "other types": as_json({
        "table": [1], "connectionSet": {"a": 1}, "subscriptionTable": [2], "messageModel": 7, "perm": "six",
        "offsetTable": 3, "subscriptionGroupTable": 4, "topicConfigTable": 5,
    }),
    "nothing": b"",
    "numbers as text": b'{"consumeTps":1e999,"offsetTable":{{"topic":"Orders","queueId":"x"}:{"brokerOffset":1}}}',
    "huge time": as_json({"table": {"bootTimestamp": "9" * 4000, "runtime": UPTIME}}),
    "huge days": as_json({"table": {"bootTimestamp": "1", "runtime": UPTIME.replace("1", "9" * 4000)}}),
    "control characters": as_json({"table": {"\x1b[2J\u202e": "\x07" * 100}, "messageModel": "\x1b]0;"}),
}  # fmt: skip


@pytest.mark.parametrize("body", LIES.values(), ids=LIES)
def test_answers_that_lie_are_as_if_there_were_none(body: bytes) -> None:
    class Liar(FakeBroker):
        def reply(self, _request: RemotingCommand) -> tuple[int, bytes]:
            return 0, body

    async def scene() -> Report:
        broker, name_server = Liar(topics={"Orders": topic("Orders")}), FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            return await examine(name_server, topics=("Orders", "Missing"), groups=("readers",), client_version=513)

    report = asyncio.run(scene())
    assert report.facts.broker(next(iter(report.facts.addresses))) is not None
    assert report.findings


def test_broker_that_answers_slowly_is_left_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is in time, and there may be many of them. The first ones come at once."""

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in itertools.count():
            request = await _request(reader)
            await asyncio.sleep(0.2 if number > 5 else 0)
            writer.write(frame(json_header(0, opaque=request.opaque, flag=1), b"{}"))

    monkeypatch.setattr(one, "BROKER_WITHIN_S", 2.0)
    report = asyncio.run(_many_questions(slowly))
    (broker,) = report.facts.brokers
    assert 0 < len(broker.topics) < 50


async def _many_questions(serve: Serve) -> Report:
    broker, name_server = FakeBroker(), FakeNameServer()
    async with listening(name_server), listening(broker, serve=serve):
        name_server.shows(broker)
        return await examine(name_server, topics=tuple(f"topic-{n}" for n in range(50)))


def test_table_of_100_000_topics_is_measured_and_searched_in_little_time() -> None:
    async def scene() -> Report:
        many = {f"orders-{n}": topic(f"orders-{n}") for n in range(100_000)}
        broker, name_server = FakeBroker(topics=many), FakeNameServer()
        async with listening(broker, name_server):
            return await examine(name_server, brokers=(broker.addr,), topics=("orders-99999",))

    report = asyncio.run(scene())
    (broker,) = report.facts.brokers
    assert (broker.topics_bytes or 0) > FRAME_BYTES


def test_many_clients_of_a_group_are_counted_and_few_are_kept() -> None:
    async def scene() -> Report:
        connections = [{"clientAddr": f"10.0.0.1:{n}", "clientId": str(n)} for n in range(20_000)]
        broker = FakeBroker(consumers={"readers": {"connectionSet": connections, "subscriptionTable": {}}})
        name_server = FakeNameServer()
        async with listening(broker, name_server):
            name_server.shows(broker)
            return await examine(name_server, groups=("readers",))

    (broker,) = asyncio.run(scene()).facts.brokers
    consumers = broker.consumers["readers"]
    assert consumers is not None
    assert (consumers.count, len(consumers.peers)) == (20_000, 8)

"""A hostile name server costs the collector bounded memory, and no other name server is watched less for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually, frame, json_header
from rocketns.protocol.command import RemotingCommand
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.client.peers import Serve, answer, serving
from tests.collect.wire.collecting import Collecting, addr

MIB = 1024 * 1024
# A collector of empty name servers has 50 MiB.
RESIDENT_MAX = 300 * MIB
# So long it is watched: until it was connected to so often, or wrote so often.
CONNECTIONS_MIN, WRITES_MIN = 4, 60
GROUPS = {"brokerAddrTable": {"a": {"cluster": "c", "brokerName": "a", "brokerAddrs": {"0": "10.0.0.1:1"}}}}


class Hostile:
    """A listening socket in a thread with a loop of its own. It counts connections, and what it writes to them."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self.connections = self.writes = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._quietly, "127.0.0.1", 0))
        self.addr = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        self._loop.run_forever()

    async def _quietly(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        write = writer.write

        def counted(data: bytes) -> None:
            self.writes += 1
            write(data)

        writer.write = counted  # type: ignore[method-assign, assignment]
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)
        writer.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


def bodies(groups: object, names: Callable[[], object], route: bytes = b"{}") -> Serve:
    """Answers with these bodies; names are made at each request."""

    def of(request: RemotingCommand) -> bytes:
        body = {106: json.dumps(groups).encode(), 105: route}.get(request.code)
        if request.code == 206:
            body = json.dumps({"topicList": names()}).encode()
        return answer(request, 0, body or b"{}")

    return serving(of)


async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Frames that nobody asked for, as fast as they are taken."""
    while True:
        writer.write(frame(json_header(0, opaque=-1, flag=1), b"x" * MIB))
        await writer.drain()


async def one_that_never_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The right answer, whose body goes on and on."""
    await reader.read(1 << 16)
    writer.write((16 * MIB - 4).to_bytes(4) + b"\0\0\0\x20")
    while True:
        writer.write(b"{" * MIB)
        await writer.drain()


async def nothing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """It takes requests and never answers."""
    while await reader.read(1 << 16):
        pass


async def garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


SERVES = {
    "garbage": garbage,
    "nothing": nothing,
    "frames without end": endless,
    "an answer without end": one_that_never_ends,
    "brokers larger than the limit": bodies({"brokerAddrTable": {"a": "x" * (5 * MIB)}}, list),
    "too many topics": bodies(GROUPS, lambda: [f"T{number}" for number in range(300_000)]),
    "long names": bodies(GROUPS, lambda: ["x" * 11_000 + str(number) for number in range(1_000)]),
    "200,000 topics": bodies(GROUPS, lambda: [f"T{number}" for number in range(200_000)]),
    "wide routes": bodies(GROUPS, lambda: ["T", "U"], json.dumps({"queueDatas": [
        {"brokerName": f"b{number}", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicSysFlag": 0}
        for number in range(20_000)]}).encode()),
}  # fmt: skip

# Lookups begin once the names were read, which these never give.
FEW_WRITES = {"too many topics": 6}


@pytest.fixture
def honest(tmp_path: Path) -> Iterator[RocketnsServer]:
    server = RocketnsServer(tmp_path / "honest")
    yield server
    server.kill()


@pytest.mark.parametrize("name", SERVES)
def test_an_honest_name_server_is_watched_beside_a_hostile_one(
    name: str, honest: RocketnsServer, tmp_path: Path
) -> None:
    hostile, writes = Hostile(SERVES[name]), FEW_WRITES.get(name, WRITES_MIN)
    collecting = Collecting(tmp_path / "collect", f"bad={hostile.addr},good={addr(honest)}", "--timeout", "1s")
    try:
        collecting.until("good", "start")
        eventually(lambda: hostile.connections >= CONNECTIONS_MIN or hostile.writes >= writes)
        with honest.connect() as client:
            registered(client, Names())
            collecting.until("good", "reg")
        assert peak_bytes(collecting.process.pid) < RESIDENT_MAX
        assert collecting.stop() == 0
        assert collecting.records("good", "stop")
    finally:
        collecting.kill()
        hostile.close()

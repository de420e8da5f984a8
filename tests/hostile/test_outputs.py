"""What one byte from a stranger becomes in each output of the server: the factors of docs/design/limits.md, counted."""

from __future__ import annotations

import random
import re
import socket
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, eventually
from rocketns.admin.api.paging import PAGE_BYTES_MAX
from rocketns.admin.api.route import ROUTE_BYTES_MAX
from rocketns.admin.api.tables import TABLES
from rocketns.admin.page.stream import MESSAGE_BYTES_MAX
from rocketns.errors import AnswerTooLarge
from rocketns.journal.buffer import LARGE_SHARE
from rocketns.protocol.body import bodies
from tests.admin.http import Http
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import StartServer
from tests.journal.files import contents, is_written

# Bytes of an output for one byte of names that were sent, before they were deflated.
ANSWER_FACTOR = 20
JOURNAL_FACTOR = 7
# Of one request.
LOG_BYTES = 150_000
# Of one answer, one message, and one scrape.
API_BYTES = PAGE_BYTES_MAX + ROUTE_BYTES_MAX
STREAM_BYTES = MESSAGE_BYTES_MAX + 192 * 1024  # with a status of names of the longest kind
METRIC_BYTES = 512 * 1024


LONG = 4_000
CONTROL = "\x01"
# Those that JSON has no short escape for; any byte → one of them.
CONTROLS = bytes(code for code in range(1, 32) if chr(code) not in "\b\t\n\f\r")
ANY_CONTROL = bytes(CONTROLS[byte % len(CONTROLS)] for byte in range(256))


def deflated(topics: list[str]) -> tuple[bytes, int]:
    """A registration's body with these topics, and its bytes before it was deflated."""
    lines = [topic.encode() + b" 1 1 6 SINGLE_TAG {}" for topic in topics]
    blocks = [dumps(data_version()), *lines, b"[]"]
    parts = [struct.pack(">i", len(block)) + block for block in blocks]
    plain = b"".join([parts[0], struct.pack(">i", len(topics)), *parts[1:], struct.pack(">i", 0)])
    return zlib.compress(plain, 9), len(plain)


@dataclass
class Stranger:
    """Requests on one connection. ``sent`` counts what it sent: header fields, and bodies before they were deflated."""

    client: Client
    sent: int = 0
    version: int = field(default=513)

    def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"", inflated: int = 0) -> Answer:
        self.sent += sum(len(key.encode()) + len(value.encode()) for key, value in (ext or {}).items()) + inflated
        return self.client.request(code, ext, body, binary=True, version=self.version)

    def register(
        self, broker: str, topics: list[str], cluster: str = "C", addr: str = "10.9.9.9:1", **ext: str
    ) -> None:
        """One more broker group."""
        body, inflated = deflated(topics)
        fields = register_ext(cluster, broker, addr, 0, body, compressed="true", **ext)
        assert self.ask(codes.REGISTER_BROKER, fields, body, inflated).code == codes.SUCCESS


def names(count: int, length: int) -> list[str]:
    """Different names of control characters, mixed: a body that inflates to much more than it has is refused."""
    chance = random.Random(count)
    return [chance.randbytes(length - 6).translate(ANY_CONTROL).decode() + f"{number:06}" for number in range(count)]


# Control makes these outputs. Reactors answer lookups only, with the same bytes.

BROKERS = 100
NAME = CONTROL * (LONG - 100)
STREAM = b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MESSAGE = re.compile(rb"event: (?:status|busy)\n")  # the first part of each message


def register_brokers(client: Client) -> Stranger:
    """Many groups with long names, each with the topics T and one of its own."""
    stranger = Stranger(client)
    for number in range(BROKERS):
        mark = f"{number:03}"
        stranger.register(mark + NAME, ["T", mark + NAME], "c" + NAME, f"10.0.{number}.1:10911{NAME}", zoneName=NAME)
    return stranger


ANSWERS: dict[str, tuple[int, dict[str, str]]] = {
    "route": (codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}),
    "cluster info": (codes.GET_BROKER_CLUSTER_INFO, {}),
    "topics": (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}),
    "topics of a cluster": (codes.GET_TOPICS_BY_CLUSTER, {"cluster": "c" + NAME}),
}


def test_outputs_have_few_bytes_for_each_byte_that_was_registered(start_server: StartServer) -> None:
    """Answers, lists of the API, messages of the stream, and a scrape, which has no name of the network at all."""
    port = free_port()
    server, http = start_server({"rocketns.adminPort": port}), Http(port)
    with server.connect() as client, http.connect() as reader:
        stranger = register_brokers(client)
        for what, (code, fields) in ANSWERS.items():
            answer = client.request(code, fields)
            assert answer.code == codes.SUCCESS, what
            assert LONG < len(answer.body or b"") <= ANSWER_FACTOR * stranger.sent, what
        for path in (*(f"{table.name}?limit=500" for table in TABLES), "status", "route?topic=T"):
            listed = http.ask(f"/api/v1/{path}")
            assert (listed.status, len(listed.body) <= API_BYTES) == (200, True), path
        client.request(30_000, {"FromTheNetwork": "x"}, language="FromTheNetwork")
        scraped = http.ask("/metrics").body
        assert not [name for name in (b"FromTheNetwork", NAME.encode()) if name in scraped]
        assert len(scraped) <= METRIC_BYTES
        reader.sendall(STREAM)
        got = read_until(reader, MESSAGE.search)
        register_brokers(client)
        got += read_until(reader, MESSAGE.search)
    assert max(map(len, MESSAGE.split(got.partition(b"\r\n\r\n")[2]))) <= STREAM_BYTES


def read_until(reader: socket.socket, enough: Callable[[bytes], object]) -> bytes:
    got = b""
    while not enough(got):
        part = reader.recv(1 << 16)
        assert part, "the stream ended"
        got += part
    return got


def test_an_answer_that_is_too_large_is_refused_before_it_is_made(start_server: StartServer) -> None:
    """A list of 137 KB for each broker was made whole, and then whoever asked was disconnected."""
    server = start_server({"rocketns.outgoingBytesMax": 64 * 1024})
    with server.connect() as stranger, server.connect() as client:
        register_brokers(stranger)
        for what, (code, fields) in ANSWERS.items():
            if what != "route":
                answer = client.request(code, fields)
                assert (answer.code, "outgoingBytesMax=65536" in (answer.remark or "")) == (1, True), what
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "no"}).code == codes.TOPIC_NOT_EXIST
    with pytest.raises(AnswerTooLarge):
        bodies.cluster_info({}, {"cluster": ["b" * LONG]}, LONG)


REQUESTS: dict[str, Callable[[Stranger], object]] = {
    "wipe": lambda one: one.ask(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a" * 3_000}),
    "wipe of a short name": lambda one: one.ask(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "s"}),
    "unknown": lambda one: one.ask(30_000, {NAME: NAME}),
    # They take the addresses of the two brokers.
    "registration": lambda one: one.register("b" + NAME, names(100, LONG), "c" + NAME),
    "many topics": lambda one: one.register("m" + NAME, names(300, 20), "c" + NAME, "10.9.9.8:1"),
}


def test_a_request_writes_few_lines_to_the_log(server: NameServer) -> None:
    with server.connect() as client:
        stranger = Stranger(client)
        stranger.register("a" * 3_000, names(100, 200))
        stranger.register("s", names(100, 200), addr="10.9.9.8:1")
        before = logged(server, client, "before")
        for what, request in REQUESTS.items():
            request(stranger)
            after = logged(server, client, what)
            assert after - before <= LOG_BYTES, what
            before = after


def logged(server: NameServer, client: Client, mark: str) -> int:
    """Bytes of the log so far. The line of a KV item is the last one."""
    put_kv(client, "log", "mark", mark)
    eventually(lambda: f"Key: mark Value: {mark}" in server.process.text())
    return len(server.process.text().encode())


# Control hands records to the journal, and reactors hand over none.

BUFFER_BYTES = 16 << 20
# A broker name, times its topics, may have as names bytes as a frame.
WIPED = "\x02" * 30
# No flush in the time of a test.
NO_FLUSH_MS = 60_000


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "j"


def files(journal: Path) -> list[Path]:
    return [path for path in journal.rglob("*") if path.is_file()]


def journal_bytes(journal: Path) -> int:
    return sum(path.stat().st_size for path in files(journal))


def topics_in(journal: Path) -> int:
    return sum(data.count(b'{"t":"') for data in contents(files(journal)))


def test_a_byte_of_a_registration_becomes_few_bytes_of_the_journal(start_server: StartServer, journal: Path) -> None:
    server = start_server({"journalPath": journal, "journalFsyncMs": 50, "journalSnapshotBytes": 1 << 30})
    topics = names(500, LONG)
    with server.connect() as client:
        stranger = Stranger(client)
        before = journal_bytes(journal)
        stranger.register("\x02" * 1_000, topics)
        eventually(lambda: topics_in(journal) >= len(topics))
        assert journal_bytes(journal) - before <= JOURNAL_FACTOR * stranger.sent
    assert "records are lost" not in server.process.text()


def test_heartbeats_do_not_repeat_long_names(start_server: StartServer, journal: Path) -> None:
    """A frame of 60 bytes is the sign of life of a broker whose name has 4,000 control characters."""
    server = start_server({"journalPath": journal, "journalFsyncMs": 50})
    with server.connect() as client, server.connect() as other:
        registered(client, Names(), brokerName=CONTROL * LONG, clusterName="C", brokerAddr="10.9.9.9:1")
        for _ in range(300):
            sign = {"brokerName": "", "clusterName": "C", "brokerAddr": "10.9.9.9:1", "brokerId": "0"}
            assert client.request(codes.BROKER_HEARTBEAT, sign).code == codes.SUCCESS
        last = Names()
        registered(other, last)
        eventually(lambda: is_written(journal, last.broker.encode()))
        assert journal_bytes(journal) < 40 * 6 * LONG


def test_small_frames_that_change_many_topics_write_a_bounded_number_of_bytes_between_flushes(
    start_server: StartServer, journal: Path
) -> None:
    """A frame of 300 bytes changes 10,000 topics with names of 300 control characters. No record is lost."""
    server, honest = start_server({"journalPath": journal, "journalFsyncMs": NO_FLUSH_MS}), Names()
    with server.connect() as client, server.connect() as broker:
        stranger = Stranger(client)
        stranger.register(WIPED, names(10_000, 300))
        before, sent = journal_bytes(journal), stranger.sent
        for _ in range(20):
            for code in (codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER):
                assert stranger.ask(code, {"brokerName": WIPED}).code == codes.SUCCESS
        assert stranger.sent - sent < 20_000
        registered(broker, honest)
        assert journal_bytes(journal) - before <= LARGE_SHARE * BUFFER_BYTES + (4 << 20)
        eventually(lambda: is_written(journal, honest.topic("T").encode()))
        server.kill()
    assert "records are lost" not in server.process.text()

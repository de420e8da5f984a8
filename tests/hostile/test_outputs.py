"""What one byte from a stranger becomes in each output of the server: the factors of docs/limits.md, counted."""

from __future__ import annotations

import random
import re
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, eventually
from rocketns.admin.api.answers import PAGE_BYTES_MAX
from rocketns.admin.api.handlers import ROUTE_BYTES_MAX
from rocketns.admin.api.tables import TABLES
from rocketns.admin.page.stream import MESSAGE_BYTES_MAX
from rocketns.journal.buffer import LARGE_SHARE
from tests.admin.http import Http
from tests.behaviour.calls import put_kv, route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import StartServer, spare_the_machine
from tests.hostile.witness import MB
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

    def wipe(self, broker: str, times: int) -> None:
        """Take the write permission of all its topics away, and give it again."""
        for _ in range(times):
            for code in (codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER):
                assert self.ask(code, {"brokerName": broker}).code == codes.SUCCESS


def names(count: int, length: int) -> list[str]:
    """Different names of control characters, mixed: a body that inflates to much more than it has is refused."""
    chance = random.Random(count)
    return [chance.randbytes(length - 6).translate(ANY_CONTROL).decode() + f"{number:06}" for number in range(count)]


# Control makes these outputs. Reactors answer lookups only, with the same bytes.

BROKERS = 100
NAME = CONTROL * (LONG - 100)
STREAM = b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MESSAGE = re.compile(rb"event: (?:status|busy)\n")  # the first part of each message
Managed = tuple[NameServer, Http]


@pytest.fixture
def managed(start_server: StartServer) -> Managed:
    port = free_port()
    return start_server({"rocketns.adminPort": port}), Http(port)


@pytest.fixture(scope="module")
def shared(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """One for several tests: what a stranger registered ends with its connection."""
    port = free_port()
    server = server_class(tmp_path_factory.mktemp("shared"), {"rocketns.adminPort": port})
    spare_the_machine(server)
    yield server, Http(port)
    server.stop()


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


def test_an_answer_has_few_bytes_for_each_byte_that_was_registered(server: NameServer) -> None:
    with server.connect() as client:
        stranger = register_brokers(client)
        for what, (code, fields) in ANSWERS.items():
            answer = client.request(code, fields)
            assert answer.code == codes.SUCCESS, what
            assert LONG < len(answer.body or b"") <= ANSWER_FACTOR * stranger.sent, what


@pytest.mark.parametrize("most", [64 * 1024, MB])
def test_cluster_info_that_is_too_large_is_refused_before_it_is_made(start_server: StartServer, most: int) -> None:
    """A list of 137 KB for each broker was made whole, and then whoever asked was disconnected."""
    server = start_server({"rocketns.outgoingBytesMax": most})
    with server.connect() as stranger, server.connect() as client:
        register_brokers(stranger)
        answer = client.request(codes.GET_BROKER_CLUSTER_INFO)
        assert answer.code == codes.SYSTEM_ERROR
        assert answer.remark == f"the answer has more bytes than rocketns.outgoingBytesMax={most}"
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "no"}).code == codes.TOPIC_NOT_EXIST


LISTS = {code: fields for code, fields in ANSWERS.values() if code != codes.GET_ROUTEINFO_BY_TOPIC}


def test_a_list_that_is_too_large_is_refused(start_server: StartServer) -> None:
    """It was sorted and encoded, and then whoever asked was disconnected."""
    server = start_server({"rocketns.outgoingBytesMax": 64 * 1024})
    with server.connect() as stranger, server.connect() as client:
        register_brokers(stranger)
        for code, fields in LISTS.items():
            assert client.request(code, fields).code == codes.SYSTEM_ERROR, code
            assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "no"}).code == codes.TOPIC_NOT_EXIST


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


def test_a_list_of_the_api_ends_at_its_bytes(shared: Managed) -> None:
    server, http = shared
    with server.connect() as client:
        register_brokers(client)
        for name in [table.name for table in TABLES]:
            answer = http.ask(f"/api/v1/{name}?limit=500")
            assert answer.status == 200
            assert len(answer.body) <= API_BYTES, name
        for path in ("/api/v1/status", "/api/v1/route?topic=T"):
            assert len(http.ask(path).body) <= API_BYTES, path


def test_a_message_of_the_stream_is_bounded(managed: Managed) -> None:
    server, http = managed
    with server.connect() as client, http.connect() as reader:
        register_brokers(client)
        reader.sendall(STREAM)
        got = read_until(reader, MESSAGE.search)
        for _ in range(3):
            register_brokers(client)
            got += read_until(reader, MESSAGE.search)
    messages = MESSAGE.split(got.partition(b"\r\n\r\n")[2])
    assert max(map(len, messages)) <= STREAM_BYTES


def read_until(reader: socket.socket, enough: Callable[[bytes], object]) -> bytes:
    got = b""
    while not enough(got):
        part = reader.recv(1 << 16)
        assert part, "the stream ended"
        got += part
    return got


def test_a_scrape_has_no_name_of_the_network(shared: Managed) -> None:
    server, http = shared
    with server.connect() as client:
        Stranger(client).register("FromTheNetwork", ["FromTheNetwork", "U"], "FromTheNetwork")
        register_brokers(client)
        client.request(30_000, {"FromTheNetwork": "x"}, language="FromTheNetwork")
        body = http.ask("/metrics").body
    assert b"FromTheNetwork" not in body
    assert NAME.encode() not in body
    assert len(body) <= METRIC_BYTES


# Control hands records to the journal, and reactors hand over none.

BUFFER_BYTES = 16 << 20
# A broker name, times its topics, may have as names bytes as a frame.
WIPED = "\x02" * 30
# No flush in the time of a test.
NO_FLUSH_MS = 60_000


@pytest.fixture
def honest() -> Names:
    return Names()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "j"


def files(journal: Path) -> list[Path]:
    return [path for path in journal.rglob("*") if path.is_file()]


def journal_bytes(journal: Path) -> int:
    return sum(path.stat().st_size for path in files(journal))


def topics_in(journal: Path) -> int:
    return sum(data.count(b'{"t":"') for data in contents(files(journal)))


@pytest.fixture(params=[(5_000, 300, 100), (500, LONG, 1_000), (20_000, 9, 50)], ids=["300", "4000", "many"])
def shape(request: pytest.FixtureRequest) -> tuple[list[str], str]:
    """Topics, and the name of their broker."""
    count, length, broker = request.param
    return names(count, length), "\x02" * broker


def test_a_byte_of_a_registration_becomes_few_bytes_of_the_journal(
    start_server: StartServer, journal: Path, shape: tuple[list[str], str]
) -> None:
    server = start_server({"journalPath": journal, "journalFsyncMs": 50, "journalSnapshotBytes": 1 << 30})
    topics, broker = shape
    with server.connect() as client:
        stranger = Stranger(client)
        before = journal_bytes(journal)
        stranger.register(broker, topics)
        eventually(lambda: topics_in(journal) >= len(topics), every_s=0.2)
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
    start_server: StartServer, journal: Path, honest: Names
) -> None:
    """A frame of 300 bytes changes 10,000 topics with names of 300 control characters."""
    server = start_server({"journalPath": journal, "journalNs": "n1", "journalFsyncMs": NO_FLUSH_MS})
    with server.connect() as client, server.connect() as broker:
        stranger = Stranger(client)
        stranger.register(WIPED, names(10_000, 300))
        before, sent = journal_bytes(journal), stranger.sent
        stranger.wipe(WIPED, 20)
        assert stranger.sent - sent < 20_000
        registered(broker, honest)
        route = route_body(broker, honest.topic("T"))
        assert journal_bytes(journal) - before <= LARGE_SHARE * BUFFER_BYTES + (4 << 20)
        eventually(lambda: is_written(journal, honest.topic("T").encode()), every_s=0.2)
        check_restart(server, honest, route)


def check_restart(server: NameServer, honest: Names, route: bytes) -> None:
    """After a kill the honest topic is there, and no record is missing."""
    server.kill()
    assert "records are lost" not in server.process.text()
    server.start()
    with server.connect() as client:
        assert route_body(client, honest.topic("T")) == route
    assert "Records are missing" not in server.process.text()

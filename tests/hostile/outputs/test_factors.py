"""Every other output: the protocol's answers, the log, and the management port."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import orjson
import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from rocketns.admin.api.tables import TABLES
from tests.admin.http import Http, Scraped
from tests.behaviour.calls import put_kv
from tests.hostile.conftest import StartServer, spare_the_machine
from tests.hostile.outputs.stranger import CONTROL, LONG, Stranger, names
from tests.hostile.outputs.table import (
    ANSWER_FACTOR,
    API_BYTES,
    LOG_BYTES,
    METRIC_BYTES,
    STREAM_BYTES,
)
from tests.hostile.watch import MB, Watch, cpu_seconds

# Control makes these outputs. Reactors answer lookups only, with the same bytes.

BROKERS = 100
NAME = CONTROL * (LONG - 100)
STREAM = b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MESSAGE = re.compile(rb"event: (?:status|busy)\n")  # the first part of each message
READERS = 8

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
        watch = Watch(server)
        answer = client.request(codes.GET_BROKER_CLUSTER_INFO)
        assert answer.code == codes.SYSTEM_ERROR
        assert answer.remark == f"the answer has more bytes than rocketns.outgoingBytesMax={most}"
        assert watch.peak_growth() < 4 * MB
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


@pytest.mark.parametrize("log_format", ["java", "json"])
def test_a_request_writes_few_lines_to_the_log(start_server: StartServer, log_format: str) -> None:
    server = start_server(None, options=["--log-format", "json"] if log_format == "json" else [])
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


def test_lists_that_are_asked_for_at_once_take_little_memory_and_hold_up_no_probe(shared: Managed) -> None:
    server, http = shared
    with server.connect() as client:
        register_brokers(client)
        http.ask("/api/v1/brokers?limit=500")
        watch, worked = Watch(server), cpu_seconds(server)
        readers = [threading.Thread(target=http.ask, args=("/api/v1/brokers?limit=500",)) for _ in range(READERS)]
        for one in readers:
            one.start()
        assert http.ask("/livez").status == 200
        for one in readers:
            one.join(60)
        assert watch.peak_growth() < 64 * MB
        assert cpu_seconds(server) - worked < 2.0


def test_readers_that_take_nothing_hold_a_bounded_total(managed: Managed) -> None:
    """100 connections ask 20 times each for the largest answer and read none."""
    server, http = managed
    ask = b"GET /api/v1/route?topic=T HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with ExitStack() as stack:
        register_brokers(stack.enter_context(server.connect()))
        watch = Watch(server)
        for _ in range(100):
            reader = stack.enter_context(http.connect())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            reader.sendall(ask * 20)
        eventually(lambda: closed(http) > 0)
        assert watch.peak_growth() < 150 * MB


def closed(http: Http) -> float:
    """Because answers were too large together; on a busy machine some are closed because nobody took them for 10 s."""
    seen, name = Scraped(http.ask("/metrics").text), "rocketns_admin_connections_closed_total"
    return (seen(name, reason="unread") or 0) + (seen(name, reason="late") or 0)


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


def test_the_page_is_made_of_files(shared: Managed) -> None:
    server, http = shared
    before = http.ask("/").body
    with server.connect() as client:
        register_brokers(client)
        assert http.ask("/").body == before
    assert orjson.loads(http.ask("/api/v1/status").body)["brokers"] >= 0

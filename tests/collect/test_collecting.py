"""`rocketns collect` as a process before real and hostile name servers, and its arguments."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from interop.harness import codes, payloads
from interop.harness.process import Process
from interop.harness.relay import Relay
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.__main__ import main
from rocketns.collect.cli import exit_status
from rocketns.collect.collector import Collector
from rocketns.collect.settings import Named, NamesError, parse_names
from rocketns.journal.replay import Replay
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.tools.arguments import duration
from tests.access.signing import KEY, SECRET
from tests.client.peers import Serve, answer, serving
from tests.support.certificates import Files, authority
from tests.support.policies import whole
from tests.support.tlsfiles import as_options, tls_properties

KINDS = [
    pytest.param(RocketnsServer, id="rocketns"),
    pytest.param(JavaNameServer, id="java", marks=[pytest.mark.slow, pytest.mark.needs("java", "mvn")]),
]
ALLOWED = {
    codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    codes.GET_KVLIST_BY_NAMESPACE, codes.GET_NAMESRV_CONFIG,
}  # fmt: skip
ADDRS = {"one": "10.0.0.1:10911", "other": "10.0.0.2:10911"}
MIB = 1024 * 1024
POLICY = f"""\
secrets = "secrets"

[modes]
lookup = "enforce"
read = "enforce"
scan = "enforce"
config = "enforce"

[principals.collector]
keys = ["{KEY}"]
may = ["lookup", "read", "scan", "config"]
"""

Record = dict[str, Any]


class Collecting:
    """Started on construction. ``names``: the name servers as the option takes them."""

    def __init__(self, home: Path, names: str, *options: str) -> None:
        home.mkdir(exist_ok=True)
        self.journal = home / "journal"
        self._command = [sys.executable, "-m", "rocketns", "collect", "--name-servers", names,
                         "--journal", str(self.journal), "--interval", "1s", *options]  # fmt: skip
        self._home = home
        self.start()

    def start(self) -> None:
        """Again, after `stop` or `kill`."""
        self.process = Process(self._command, self._home / "collect.log")

    def stop(self) -> int:
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()

    def records(self, ns: str, *kinds: str) -> list[Record]:
        """All records of a name server, or those of some kinds, in their order."""
        files = sorted(self.journal.glob(f"v=1/dt=*/ns={ns}/*"), key=lambda path: path.name.removeprefix(".open-"))
        lines = [line for path in files for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        records = [json.loads(line) for line in lines]
        return [record for record in records if not kinds or record["ev"] in kinds]

    def until(self, ns: str, kind: str, count: int = 1, **columns: Any) -> Record:
        """Wait for so many records of a kind with these values; the last of them."""

        def found() -> list[Record]:
            return [one for one in self.records(ns, kind) if columns.items() <= one.items()]

        eventually(lambda: len(found()) >= count)
        return found()[-1]

    def routes(self, ns: str) -> PriorRoutes:
        """What the journal gives."""
        replay = Replay()
        for record in self.records(ns):
            replay.apply(record)
        assert replay.refused == 0
        return replay.routes


def addr(server: NameServer) -> str:
    return f"127.0.0.1:{server.port}"


def register(client: Client, broker: str, *topics: str, addr: str = "", counter: int = 1) -> None:
    version = payloads.data_version(counter, 1_700_000_000_000 + counter)
    body = payloads.register_body([payloads.topic_config(topic) for topic in topics], version)
    ext = payloads.register_ext(broker=broker, addr=addr or ADDRS[broker], body=body)
    assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


def unregister(client: Client, broker: str) -> None:
    ext = {"clusterName": "C1", "brokerName": broker, "brokerAddr": ADDRS[broker], "brokerId": "0"}
    assert client.request(codes.UNREGISTER_BROKER, ext).code == 0


def codes_of(sent: Iterable[bytes | bytearray]) -> set[int]:
    """The codes of all whole requests in the bytes of some connections."""
    found = set()
    for data in sent:
        at = 0
        while at + 8 <= len(data):
            length, word = struct.unpack_from(">iI", data, at)
            if at + 4 + length > len(data):
                break
            found.add(json.loads(data[at + 8 : at + 8 + (word & 0xFFFFFF)])["code"])
            at += 4 + length
    return found


@pytest.fixture(params=KINDS)
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NameServer]:
    server = request.param(tmp_path / "server")
    yield server
    server.kill()


@pytest.fixture
def relay(watched: NameServer) -> Iterator[Relay]:
    """What the collector connects to: it keeps what passes, and can be cut."""
    one = Relay(watched.port)
    yield one
    one.close()


@pytest.fixture
def broker(watched: NameServer) -> Iterator[Client]:
    """The connection of a broker with two topics: it is there as long as this is open."""
    with watched.connect() as client:
        register(client, "one", "T", "U")
        yield client


@pytest.fixture
def collecting(relay: Relay, broker: Client, tmp_path: Path) -> Iterator[Collecting]:
    """It has read everything once."""
    assert broker
    one = Collecting(tmp_path / "collect", f"a=127.0.0.1:{relay.port}")
    one.until("a", "start")
    yield one
    one.kill()


def test_the_journal_has_what_was_registered(collecting: Collecting) -> None:
    assert collecting.stop() == 0
    routes = collecting.routes("a")
    assert {name: next(iter(group.brokers.values())).addr for name, group in routes.groups.items()} == {
        "one": ADDRS["one"]
    }
    assert {"T", "U"} <= {topic for topic, brokers in routes.topics.items() if set(brokers) == {"one"}}
    assert collecting.records("a", "reg", "down", "tput", "tdel") == []


@pytest.mark.slow
def test_what_changes_is_recorded_with_two_moments_and_only_what_keeps_no_broker_alive_is_asked(
    collecting: Collecting, watched: NameServer, broker: Client, relay: Relay
) -> None:
    with watched.connect() as second:
        register(second, "other", "N", "M")
        came = collecting.until("a", "reg", broker="other")
        put = collecting.until("a", "tput", broker="other")
        register(broker, "one", "T", "V", counter=2)
        collecting.until("a", "tput", broker="one")
        unregister(broker, "other")
        gone = collecting.until("a", "down", broker="other")
    assert collecting.stop() == 0
    assert {topic["t"] for topic in put["topics"]} <= {"N", "M"}
    assert (came["addr"], gone["addr"], gone["cause"], gone.get("gap")) == (
        ADDRS["other"], ADDRS["other"], "observed", None)  # fmt: skip
    assert all(record["since"] < record["ts"] for record in (came, put, gone, *collecting.records("a", "stop")))
    assert set(collecting.routes("a").groups) == {"one"}
    assert codes_of(relay.sent) == ALLOWED


@pytest.mark.slow
def test_a_collector_that_was_killed_goes_on_with_its_own_journal(collecting: Collecting, watched: NameServer) -> None:
    collecting.until("a", "snap", end=True)
    collecting.kill()
    with watched.connect() as second:
        register(second, "other", "N", "M")
        collecting.start()
        came = collecting.until("a", "reg", broker="other")
        assert collecting.stop() == 0
    starts = collecting.records("a", "start")
    assert [start.get("restored") for start in starts] == [None, True]
    assert came["since"] < starts[1]["ts"]


@pytest.mark.slow
def test_a_name_server_that_takes_only_tls_and_signed_requests_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret is shown nowhere. Without it the exit status says that nothing was read."""
    ca = authority("an authority")
    own = Files.write(tmp_path / "own", ca.issue("a name server"))
    (tmp_path / "ca.pem").write_bytes(ca.certificate_pem())
    (tmp_path / "policy.toml").write_text(whole(POLICY))
    (tmp_path / "secrets").write_text(f"{KEY} {SECRET}\n")
    (tmp_path / "secrets").chmod(0o600)
    trust = as_options({"tls.enable": "true", "tls.test.mode.enable": "false", "tls.client.authServer": "true",
                        "tls.client.trustCertPath": str(tmp_path / "ca.pem")})  # fmt: skip
    with contextlib.ExitStack() as stack:
        server = RocketnsServer(tmp_path / "server", {"rocketns.accessFile": tmp_path / "policy.toml"},
                                options=as_options(tls_properties(own, mode="enforcing")))  # fmt: skip
        stack.callback(server.kill)
        for name, value in (("ROCKETNS_ACCESS_KEY", KEY), ("ROCKETNS_SECRET_KEY", SECRET)):
            monkeypatch.setenv(name, value)
        collecting = Collecting(tmp_path / "c", f"a={addr(server)}", *trust)
        stack.callback(collecting.kill)
        collecting.until("a", "start")
        assert collecting.stop() == 0
        monkeypatch.delenv("ROCKETNS_ACCESS_KEY")
        monkeypatch.delenv("ROCKETNS_SECRET_KEY")
        unsigned = Collecting(tmp_path / "unsigned", f"a={addr(server)}", "--for", "6s", *trust)
        assert unsigned.process.wait() == 1
        assert "it refuses request 106 with code 16" in unsigned.process.text()
    written = [path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file()]
    assert SECRET.encode() not in b"".join(written)


class Hostile:
    """A listening socket in a thread with a loop of its own. It counts connections, writes, and the most bytes that
    one connection took."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self.connections = self.writes = self.most_bytes = 0
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
        write, sent = writer.write, 0

        def counted(data: bytes) -> None:
            nonlocal sent
            sent += len(data)
            self.most_bytes = max(self.most_bytes, sent)
            self.writes += 1
            write(data)

        writer.write = counted  # type: ignore[method-assign, assignment]
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)
        writer.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


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


async def garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)


def too_many_topics(request: RemotingCommand) -> bytes:
    group = {"cluster": "c", "brokerName": "a", "brokerAddrs": {"0": "10.0.0.1:1"}}
    bodies = {106: {"brokerAddrTable": {"a": group}}, 206: {"topicList": [f"T{number}" for number in range(300_000)]}}
    return answer(request, 0, json.dumps(bodies.get(request.code, {})).encode())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("serve", "writes"),
    [(garbage, 60), (endless, 60), (one_that_never_ends, 60), (serving(too_many_topics), 6)],
    ids=["garbage", "frames without end", "an answer without end", "too many topics"],
)
def test_an_honest_name_server_is_watched_beside_a_hostile_one(serve: Serve, writes: int, tmp_path: Path) -> None:
    honest, hostile = RocketnsServer(tmp_path / "honest"), Hostile(serve)
    collecting = Collecting(tmp_path / "collect", f"bad={hostile.addr},good={addr(honest)}", "--timeout", "1s")
    try:
        collecting.until("good", "start")
        eventually(lambda: hostile.connections >= 4 or hostile.writes >= writes)
        with honest.connect() as client:
            register(client, "one", "T", "U")
            collecting.until("good", "reg")
        assert collecting.stop() == 0
        assert collecting.records("good", "stop")
        assert hostile.most_bytes < 64 * MIB
    finally:
        collecting.kill()
        hostile.close()
        honest.kill()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--name-servers"),
        (["--name-servers", "a:1,b"], "b: HOST:PORT or NAME=HOST:PORT expected"),
        (["--name-servers", "a:1", "--interval", "0s"], "a time from 1 s to 5 min expected"),
        (["--name-servers", "a:1", "--requests-per-second", "1"], "a number from 2 to 2000 expected"),
        (["--name-servers", "a:1", "--keep-bytes", "1"], "1: a number from 8388608 to"),
        (["--name-servers", "a:1", "--journal", "/proc/self/j"], "the journal's folder /proc/self/j cannot be written"),
    ],
)
def test_a_wrong_option_is_named(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "--journal", str(tmp_path / "j"), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_name_server_has_a_name_or_gets_one() -> None:
    assert parse_names("east=10.0.0.1:9876 2001:db8::1:9876") == [
        Named("east", "10.0.0.1:9876"), Named("2001-db8--1-9876", "[2001:db8::1]:9876"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (",;", "1 to 16"), ("a:1,b:0", "b:0: HOST:PORT"), ("a/b=a:1", "a/b=a:1: the name"), ("é=a:1", "é=a:1"),
        ("a:1 x=a:1", "a:1 is there twice"), ("x=a:1,x=b:1", "x is there twice"), (":9876", ":9876: HOST:PORT"),
        (",".join(f"a:{port}" for port in range(1, 18)), "not 17"),
    ],
)  # fmt: skip
def test_a_wrong_name_server_is_named(text: str, wrong: str) -> None:
    with pytest.raises(NamesError) as raised:
        parse_names(text)
    assert wrong in str(raised.value)


@pytest.mark.parametrize(
    ("boots", "is_cut", "is_stopped", "status"),
    [(1, False, False, 0), (0, False, False, 1), (0, False, True, 0), (1, True, False, 1), (1, True, True, 1)],
    ids=["read", "never read", "stopped too early", "a full disk", "a full disk at a signal"],
)
def test_the_exit_status_says_what_the_journals_lack(
    boots: int, is_cut: bool, is_stopped: bool, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    one = SimpleNamespace(name="a (a:1)", boots=boots, journal=SimpleNamespace(is_cut=is_cut), errors={})
    collector = cast(Collector, SimpleNamespace(upstreams=[one]))
    assert exit_status(collector, is_stopped=is_stopped) == status
    assert ("could not be written" in caplog.text) is is_cut


def test_times_have_units_and_limits() -> None:
    read = duration(0.1, 86_400)
    assert [read(text) for text in ("5s", "5", "500ms", "10m", "1.5h")] == [5, 5, 0.5, 600, 5400]
    assert [read(text) for text in ("10m30s", "1h1m", "2s500ms", "1h0m1s")] == [630, 3660, 2.5, 3601]
    for text in (
        "",
        "s",
        "-5s",
        "5 s",
        "5y",
        "1e3",
        "inf",
        "nan",
        "2d",
        "1ms",
        "٣s",
        "30s10m",
        "10m30",
        "1m1m",
        "1h m",
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)

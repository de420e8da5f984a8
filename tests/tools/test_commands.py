"""The commands against a real rocketns: what they print, and their exit statuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer, RocketnsServer
from rocketns.__main__ import main
from rocketns.tools.arguments import parse
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

NAMES, OTHER = Names(), Names()
NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NameServer, NameServer]]:
    """Both have the brokers of NAMES and OTHER."""
    with ExitStack() as stack:
        pair = RocketnsServer(tmp_path_factory.mktemp("one")), RocketnsServer(tmp_path_factory.mktemp("two"))
        for server in pair:
            stack.callback(server.kill)
            client = stack.enter_context(server.connect())  # as long as it is open, the brokers are there
            registered(client, NAMES, ["T", "U\x1b[2J"], __ZONE_NAME="z1")
            registered(client, OTHER, ["T", "V"], host=2)
        yield pair


def addr(server: NameServer) -> str:
    return f"127.0.0.1:{server.port}"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status and the standard output."""
    status = main(words)
    return status, capsys.readouterr().out


def test_brokers_for_people(servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = printed(capsys, "get", "brokers", "-n", addr(servers[0]))
    rows = [line.split() for line in shown.splitlines()]
    assert (status, rows[0][:4]) == (0, ["CLUSTER", "BROKER", "ID", "ADDRESS"])
    assert rows[1:] == [
        [NAMES.cluster, NAMES.broker, "0", NAMES.addr(1), "z1", "no"],
        [OTHER.cluster, OTHER.broker, "0", OTHER.addr(2), "-", "no"],
    ]


def test_brokers_for_programs(servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = printed(capsys, "get", "brokers", "--json", "-n", addr(servers[0]))
    group = json.loads(shown)[NAMES.broker]
    assert (status, group["brokerAddrs"], group["zoneName"]) == (0, {"0": NAMES.addr(1)}, "z1")


def test_the_names_of_all_topics_are_printed(
    servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = printed(capsys, "get", "topics", "-n", addr(servers[0]))
    escaped = NAMES.topic("U\x1b[2J").replace("\x1b", "\\x1b")
    topics = sorted([NAMES.topic("T"), OTHER.topic("T"), escaped, OTHER.topic("V")])
    assert (status, shown.splitlines()) == (0, ["TOPIC", *topics])


def test_the_route_of_a_topic_is_printed(
    servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]
) -> None:
    topic = NAMES.topic("T")
    status, shown = printed(capsys, "get", "route", topic, "-n", addr(servers[0]))
    assert (status, shown.splitlines()[1].split()) == (0, [NAMES.broker, "8", "8", "6", "0"])
    status, shown = printed(capsys, "get", "route", topic, "--json", "-n", addr(servers[0]))
    assert json.loads(shown)["queues"][NAMES.broker]["perm"] == 6
    assert json.loads(shown)["brokers"][NAMES.broker]["brokerAddrs"] == {"0": NAMES.addr(1)}


def test_a_topic_without_a_route(servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "route", "nope", "-n", addr(servers[0])]) == 1
    assert "no route of the topic nope" in capsys.readouterr().err


def test_kv_items_and_properties_are_printed(
    servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]
) -> None:
    with servers[0].connect() as client:
        client.request(codes.PUT_KV_CONFIG, {"namespace": "mine", "key": "k", "value": "v"})
    assert printed(capsys, "get", "kv", "mine", "--json", "-n", addr(servers[0])) == (0, '{\n  "k": "v"\n}\n')
    assert printed(capsys, "get", "kv", "-n", addr(servers[1])) == (0, "KEY  VALUE\n")
    status, shown = printed(capsys, "get", "config", "--json", "-n", addr(servers[0]))
    assert (status, json.loads(shown)["listenPort"]) == (0, str(servers[0].port))


def test_diff_ends_with_0_then_1(servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["diff", *map(addr, servers), "--settle", "0", "--json"]
    status, shown = printed(capsys, *words)
    assert (status, json.loads(shown)["differences"]) == (0, [])
    with servers[0].connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": OTHER.broker})
    status, shown = printed(capsys, *words)
    found, _ = json.loads(shown)["differences"]
    assert (status, found["kind"], found["name"]) == (1, "topic", OTHER.topic("T"))
    assert [view["queues"][OTHER.broker]["perm"] for view in found["views"].values()] == [4, 6]


def test_connections_need_a_management_port(
    servers: tuple[NameServer, NameServer], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "connections", "-n", addr(servers[0])]) == 2
    assert "set rocketns.adminPort" in capsys.readouterr().err


def test_connections_are_those_of_the_management_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = RocketnsServer(tmp_path, {"rocketns.adminPort": free_port()})
    try:
        with server.connect() as client:
            registered(client, NAMES)
            status, text = printed(capsys, "get", "connections", "-n", addr(server))
            peer = f"127.0.0.1:{client.socket.getsockname()[1]}"
    finally:
        server.kill()
    assert status == 0
    assert any(line.split()[:3] == [peer, "JAVA", "5.5.0"] for line in text.splitlines())


@pytest.mark.parametrize("words", [["get", "topics", "-n", NOBODY], ["diff", NOBODY, "127.0.0.1:2"]])
def test_a_name_server_that_cannot_be_read(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"{NOBODY} cannot be read: connecting to {NOBODY} failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    ["get", "get nothing", "get topics -n x", "get topics -n x:0", "get topics -n x:99999", "get topics --timeout x",
     "diff", "diff a:1", "diff a:1 a:1", "diff a:1 b:1 --settle -1", "diff a:1 b:1 -D x"],
)  # fmt: skip
def test_a_wrong_option_ends_with_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize("between", [",", ";", " ", ", "])
def test_the_name_servers_of_diff_and_top_may_be_one_list(between: str) -> None:
    words = between.join(("a:1", "[::1]:2", "c:3"))
    for command in ("diff", "top"):
        assert parse([command, words, "d:4"]).addrs == ["a:1", "[::1]:2", "c:3", "d:4"]
    assert parse(["top"]).addrs == ["127.0.0.1:9876"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "topics", "-n", "a:1;b:2"], "a:1;b:2: one HOST:PORT expected"),
        (["diff", "a:1,b", "c:1"], "argument HOST:PORT: b: HOST:PORT expected"),
        (["diff", "a:1", ","], "argument HOST:PORT: ,: HOST:PORT expected"),
        (["replay", "f", "--to", "a:1", "--only", "105, x"], "argument --only: x: a request code expected"),
        (["replay", "f", "--to", "a:1,b:1"], "argument --to: a:1,b:1: one HOST:PORT expected"),
    ],
)
def test_an_item_that_cannot_be_a_host_and_port_is_named(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", ["get --help", "get route --help", "diff --help"])
def test_help_ends_with_0(words: str) -> None:
    assert main(words.split()) == 0

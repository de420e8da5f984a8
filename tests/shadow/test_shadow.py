"""What an operator relies on: `rocketns shadow` as a process, in front of real name servers."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from interop.harness import codes, payloads
from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client, eventually
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient
from tests.support.tlsfiles import as_options, tls_properties

ITEM = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"}
READY = r"own half, process (\d+), listens at"


class Shadow:
    """Started on construction, and ready. Brokers have a second to register at a half that starts."""

    def __init__(self, home: Path, upstream: int, *options: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.port, self.status_port = free_port(), free_port()
        self.process = Process(
            [sys.executable, "-m", "rocketns", "shadow", "--upstream", f"127.0.0.1:{upstream}", "-p", str(self.port),
             "--bind", "127.0.0.1", "--settle", "1s", "--status", f"127.0.0.1:{self.status_port}", *options],
            home / "stdout.log",
        )  # fmt: skip
        self.process.wait_for_start(READY)

    def counts(self) -> dict[str, Any]:
        """What the status port says."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/api/counts") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def relay(self, name: str) -> int:
        """A number of the relay."""
        return int(self.counts()["relay"][name])

    def knows_brokers(self) -> bool:
        """Whether differences count: brokers had time to register at the half."""
        return bool(self.counts()["settles_in_s"] == 0)

    def connect(self) -> Client:
        return Client(self.port)


def register(client: Client, topics: int = 3, addr: str = "127.0.0.1:10911", broker: str = "broker-a") -> None:
    """A broker with topics ``T0`` and so on."""
    body = payloads.register_body([payloads.topic_config(f"T{number}") for number in range(topics)])
    ext = payloads.register_ext(addr=addr, broker=broker, body=body)
    assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


def routed(client: Client, topic: str = "T1") -> bool:
    """Whether the topic has a route."""
    return client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).code == 0


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[NameServer]:
    started = RocketnsServer(tmp_path / "upstream")
    yield started
    started.kill()


Start = Callable[..., Shadow]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts shadows in front of a name server, which end with the test, also with one that fails."""
    with ExitStack() as stack:

        def start(server: NameServer, *options: str) -> Shadow:
            started = Shadow(tmp_path, server.port, *options)
            stack.callback(started.process.kill)
            return started

        yield start


@pytest.fixture
def shadow(start: Start, upstream: NameServer) -> Shadow:
    return start(upstream)


def test_a_planted_difference_is_found_and_the_exit_status_says_so(shadow: Shadow, upstream: NameServer) -> None:
    with upstream.connect() as direct, shadow.connect() as client:
        register(direct)
        eventually(shadow.knows_brokers)
        assert routed(client)
        eventually(lambda: shadow.counts()["unwanted"] == 1)
    assert shadow.process.stop() == 1
    assert "1 of 1 answers" in shadow.process.text()


def test_where_nobody_asked_the_end_says_what_to_do(shadow: Shadow) -> None:
    assert shadow.process.stop() == 2
    assert f"point one at 127.0.0.1:{shadow.port}." in shadow.process.text()


def workers(shadow: Shadow) -> list[psutil.Process]:
    """Its own half and its judge; multiprocessing has a process of its own beside them."""
    children = psutil.Process(shadow.process.pid).children()
    return [one for one in children if not any("resource_tracker" in word for word in one.cmdline())]


@pytest.mark.slow
def test_killed_children_are_not_noticed_by_a_client_and_start_again(shadow: Shadow) -> None:
    eventually(lambda: len(workers(shadow)) == 2)
    children = workers(shadow)
    with shadow.connect() as client:
        register(client)
        for child in children:
            child.kill()
        assert routed(client)
        eventually(lambda: shadow.process.text().count("listens at 127.0.0.1") >= 3)
        eventually(lambda: routed(client) and shadow.relay("reopened") > 0)
        register(client)
    eventually(lambda: "judge ended" in shadow.process.text())
    eventually(lambda: len(workers(shadow)) == 2)
    started = psutil.Process(shadow.process.pid).children(recursive=True)
    shadow.process.kill()
    assert not psutil.wait_procs(started, 60)[1]


@pytest.mark.slow
def test_the_half_has_the_upstream_s_order_configuration_and_properties(start: Start, upstream: NameServer) -> None:
    with upstream.connect() as direct:
        assert direct.request(codes.PUT_KV_CONFIG, ITEM).code == 0
        assert direct.request(codes.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true").code == 0
    shadow = start(upstream)
    with shadow.connect() as client:
        register(client)
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"})
        assert b"broker-a:4" in (answer.body or b"")
        eventually(lambda: shadow.relay("equal") == 2)


@pytest.mark.slow
def test_tls_with_keys_is_compared(start: Start, tmp_path: Path, upstream: NameServer) -> None:
    files = Files.write(tmp_path / "tls", authority("shadow"))
    options = as_options(tls_properties(files) | {"tls.enable": "true"})
    shadow = start(upstream, *options)
    with TlsClient(shadow.port) as client, shadow.connect() as plain:
        register(client)
        eventually(lambda: shadow.relay("equal") == 1)
        register(plain)

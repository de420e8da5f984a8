"""The address server of a whole rocketns, asked as Java, Go and C++ ask."""

from __future__ import annotations

import http.client
import importlib.util
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from rocketns.addressserver.listing import LISTED_S
from rocketns.addressserver.server import AddressServer
from rocketns.config import Configuration
from rocketns.errors import StartupError
from tests.support.certificates import Files, authority
from tests.support.tlsclient import any_server
from tests.support.tlsfiles import tls_properties

Start = Callable[..., RocketnsServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a rocketns with an address server at a free port, ``addresses_at`` of the properties or its own."""
    started: list[RocketnsServer] = []

    def start(properties: dict[str, object] | None = None, **more: object) -> RocketnsServer:
        started.append(RocketnsServer(tmp_path / f"ns{len(started)}", properties, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        one.stop()


def ask(port: int, path: str = "/rocketmq/nsaddr", method: str = "GET") -> tuple[int, str]:
    """Status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        assert answer.getheader("Connection") == "close"
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def lists(port: int, listed: str) -> None:
    """Wait for this answer: a name server that took more than 2 s for the first lookup is asked again after 3 s."""
    eventually(lambda: ask(port) == (200, listed))


def test_the_ready_name_servers_are_listed_at_the_paths_of_all_clients(start: Start) -> None:
    port = free_port()
    server = start({"rocketns.addressServer": port})
    lists(port, f"127.0.0.1:{server.port}")
    asked = ("nsaddr", "nsaddr-unit1?nofix=1", "nsaddr-unit1?nofix=1&k=v", "nsaddr?k=v", "other")
    for path in asked:
        assert ask(port, f"/rocketmq/{path}") == (200, f"127.0.0.1:{server.port}")
    assert ask(port, method="HEAD") == (200, "")
    for path in ("/", "/rocketmq/", "/rocketmq/a/b", "/nsaddr", "/rocketmq/../../etc/passwd"):
        assert ask(port, path) == (404, "")
    assert ask(port, method="POST") == (405, "")


def test_a_second_name_server_is_listed_without_a_restart(start: Start) -> None:
    """The operator adds it to rocketns.peers and sends SIGHUP. The server lists itself by its announced address."""
    port = free_port()
    first = start({"rocketns.addressServer": port, "rocketns.announcedAddress": "ns-1.example:30876"})
    lists(port, "ns-1.example:30876")
    second = start()
    with first.config_path.open("a") as file:
        file.write(f"rocketns.peers=127.0.0.1:{first.port};127.0.0.1:{second.port}\n")
    first.process.signal(signal.SIGHUP)
    lists(port, f"127.0.0.1:{second.port};ns-1.example:30876")


def test_a_changed_listen_port_does_not_change_what_is_listed(start: Start) -> None:
    """Request 318 changes what request 319 shows, as in Java, and not where the server listens."""
    port = free_port()
    server = start({"rocketns.addressServer": port})
    with server.connect() as stranger:
        stranger.request(codes.UPDATE_NAMESRV_CONFIG, body=b"listenPort=-1\nbindAddress=10.0.0.1\n")
    server.process.signal(signal.SIGHUP)
    server.process.wait_for(r"the address server asks 127.0.0.1:\d+ whether[\s\S]*the address server asks .*")
    assert server.process.text().count(f"asks 127.0.0.1:{server.port} whether") == 2
    lists(port, f"127.0.0.1:{server.port}")


def test_a_name_server_that_is_not_ready_is_not_listed(start: Start) -> None:
    """An empty answer with status 503: clients and brokers keep the list that they have."""
    port = free_port()
    start({"rocketns.addressServer": port, "needWaitForService": "true"})
    assert ask(port) == (503, "")


def test_a_name_server_that_takes_tls_alone_is_asked_over_tls(start: Start) -> None:
    port = free_port()
    server = start({"rocketns.addressServer": port}, options=["-Dtls.server.mode=enforcing"])
    lists(port, f"127.0.0.1:{server.port}")


def test_it_takes_tls_alone_where_a_property_says_so(start: Start, tmp_path: Path) -> None:
    """With the certificate of the name server; who asks over plain HTTP gets nothing."""
    identity = authority("ours").issue("localhost")
    files = Files.write(tmp_path / "tls", identity)
    port = free_port()
    server = start(tls_properties(files) | {"rocketns.addressServer": port, "rocketns.addressServerTls": "true"})

    def asked_over_tls() -> bytes:
        asked = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=any_server())
        asked.request("GET", "/rocketmq/nsaddr")
        assert asked.sock.getpeercert(binary_form=True) == identity.der
        return asked.getresponse().read()

    eventually(lambda: asked_over_tls() == f"127.0.0.1:{server.port}".encode())
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(port)


def test_a_list_is_kept_for_as_long_as_the_property_says(tmp_path: Path) -> None:
    configuration = Configuration.build(home=tmp_path)
    given = {"addressServer": "127.0.0.1:0", "peers": "ns-1:9876", "addressServerKeepSeconds": "7"}
    configuration.discovery.update({f"rocketns.{name}": text for name, text in given.items()})
    server = AddressServer(configuration)
    server._listening.socket.close()
    listing = server._listing
    listing.set_addresses(["ns-1:9876"])
    listing.answered("ns-1:9876", 100.0)
    silent_s = 100.0 + LISTED_S
    assert [listing.listed(silent_s + s).addresses for s in (7.0, 7.1)] == [("ns-1:9876",), ()]


def refused(**given: str) -> str:
    """The message of a start that fails."""
    configuration = Configuration.build(home=Path("unused"))
    configuration.discovery.update({f"rocketns.{name}": text for name, text in given.items()})
    with pytest.raises(StartupError) as raised:
        AddressServer(configuration)
    return str(raised.value)


def test_the_start_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert refused(addressServer="127.0.0.1:0").endswith("Install it with: pip install 'rocketns[admin]'")


def test_the_start_says_which_address_to_set() -> None:
    """bindAddress is every address of the machine."""
    assert "Set rocketns.announcedAddress=host:port, or rocketns.peers" in refused(addressServer="127.0.0.1:0")


def test_an_address_in_use_stops_the_start(start: Start) -> None:
    port = free_port()
    start({"rocketns.addressServer": port})
    assert f"Failed to bind to 127.0.0.1:{port}" in refused(addressServer=f"127.0.0.1:{port}", peers="a:1")

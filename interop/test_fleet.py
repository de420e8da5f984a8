"""Name servers that compare themselves: three of them, one Java's, two real brokers, and a link that is cut."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from interop.harness import codes, views
from interop.harness.brokers import Broker
from interop.harness.ports import free_port
from interop.harness.relay import Relay
from interop.harness.servers import JavaNameServer, NameServer, ReactorServer
from interop.harness.wire import eventually
from rocketns.__main__ import main
from tests.admin.http import Http

DISAGREE = "name servers disagree about the {} {}:"
OVER = "no disagreement of name servers about the"
# The promise is 5 s. The machine that runs this may be busy.
BROKERS_WITHIN_S = 5.0
TOPICS_WITHIN_S = 10.0
# Names are read every 10 s, then twice.
OTHERS_TOPICS_WITHIN_S = 15.0
BUSY_S = 60.0


class Watched:
    """The log of a name server from now on: brokers that start register at one name server after the other."""

    def __init__(self, server: NameServer) -> None:
        self._file = server.home / "stdout.log"
        self._from = self._file.stat().st_size
        self._began_s = time.monotonic()

    def says(self, text: str) -> bool:
        return text.encode() in self._file.read_bytes()[self._from :]

    def named_within(self, kind: str, name: str, within_s: float) -> str:
        """Wait until it says that name servers disagree about the thing. How long it took, in words."""
        eventually(lambda: self.says(DISAGREE.format(kind, name)), within_s + BUSY_S, every_s=0.1)
        took_s = time.monotonic() - self._began_s
        return f"{kind} {name}: named {took_s:.1f} s after the change, {within_s:.0f} s promised"


def is_calm(server: NameServer) -> bool:
    """Whether the server compares itself with both others, and every disagreement that it logged is over."""
    text = (server.home / "stdout.log").read_text("utf-8", "replace")
    return text.count("is compared with this one") >= 2 and text.count(" disagree about the ") == text.count(OVER)


def asked(port: int, name: str, **parameters: str) -> list[dict[str, Any]]:
    """The items of a list of the API, or the reasons of its status."""
    answer = json.loads(Http(port).ask(f"/api/v1/{name}?{urlencode(parameters)}").body)
    found: list[dict[str, Any]] = answer["reasons" if name == "status" else "items"]
    return found


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_three_name_servers_say_what_they_disagree_about(
    closing: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """one broker loses its link to one name server; then Java's loses a permission. Both others say so."""
    *ports, admin_port = (free_port() for _ in range(4))
    peers = ";".join(f"127.0.0.1:{port}" for port in ports)
    mine = {"rocketns.peers": peers, "rocketns.peerLookupsPerSecond": 100}
    first = ReactorServer(tmp_path / "first", mine | {"listenPort": ports[0], "rocketns.adminPort": admin_port})
    second = ReactorServer(tmp_path / "second", mine | {"listenPort": ports[1]})
    java = JavaNameServer(tmp_path / "java", {"listenPort": ports[2]})
    relay = Relay(second.port)
    for ended in (relay.close, java.kill, second.kill, first.kill):
        closing.callback(ended)
    addrs = [f"127.0.0.1:{port}" for port in (first.port, relay.port, java.port)]
    brokers = [
        Broker(tmp_path / "broker-a", "broker-a", ";".join(addrs), topics=["Orders"]),
        Broker(tmp_path / "broker-b", "broker-b", peers, topics=["Orders", "Payments"]),
    ]
    for broker in brokers:
        closing.callback(broker.kill)
        views.have_registered(broker, first, second, java)
    assert main(["diff", *peers.split(";"), "--settle", "20"]) == 0
    eventually(lambda: is_calm(first) and is_calm(second), 120.0, every_s=0.2)

    logs = [Watched(server) for server in (first, second)]
    relay.close()
    took = [log.named_within("broker", "broker-a", BROKERS_WITHIN_S) for log in logs]
    took += [log.named_within("topic", "Orders", TOPICS_WITHIN_S) for log in logs]
    assert not any(log.says(DISAGREE.format("broker", "broker-b")) for log in logs)
    capsys.readouterr()
    assert main(["diff", *peers.split(";"), "--settle", "1", "--json"]) == 1
    found = {(one["kind"], one["name"]): one["views"] for one in json.loads(capsys.readouterr().out)["differences"]}
    assert [view is None for view in found["broker", "broker-a"].values()] == [False, True, False]
    assert ("broker", "broker-b") not in found

    assert {one["name"] for one in asked(admin_port, "disagreements", kind="broker")} == {"broker-a"}
    reasons = [one["text"] for one in asked(admin_port, "status")]
    assert "Name servers disagree about broker broker-a" in reasons
    metrics = Http(admin_port).ask("/metrics").text
    assert 'rocketns_fleet_disagreements{kind="broker"} 1.0' in metrics

    log = Watched(first)
    with java.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-b"})
    took.append(log.named_within("topic", "Payments", OTHERS_TOPICS_WITHIN_S))
    with capsys.disabled():
        print("", *took, sep="\n")

"""Name servers that compare themselves, one of them Java's, two real brokers, and a link that is cut."""

from __future__ import annotations

import json

import pytest

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns.__main__ import main
from tests.admin.http import Http

WITHIN_S = 240.0


def is_calm(server: NameServer) -> bool:
    """Whether the server compares itself with both others, and every disagreement that it logged is over."""
    text = server.process.text()
    agreed = text.count(" disagree about the ") == text.count("name servers agree again about the")
    return text.count("is compared with this one") >= 2 and agreed


def test_they_say_what_they_disagree_about(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """One broker loses its link to one name server; then Java's loses a permission. The others name both, no more."""
    *ports, admin_port = (free_port() for _ in range(4))
    peers = ";".join(f"127.0.0.1:{port}" for port in ports)
    mine = {"rocketns.peers": peers, "rocketns.peerLookupsPerSecond": 100}
    first = fleet.name_server(mine | {"listenPort": ports[0], "rocketns.adminPort": admin_port})
    second = fleet.name_server(mine | {"listenPort": ports[1]})
    java = fleet.java({"listenPort": ports[2]})
    relay = fleet.relay(second.port)
    cut_off = fleet.unregistered("broker-a", [first, relay, java], topics=["Orders"])
    views.have_registered(cut_off, first, second, java)
    fleet.broker("broker-b", first, second, java, topics=["Orders", "Payments"])
    eventually(lambda: main(["diff", *peers.split(";"), "--settle", "1"]) == 0, WITHIN_S)
    eventually(lambda: is_calm(first) and is_calm(second), WITHIN_S, every_s=0.2)
    before = {server: len(server.process.text()) for server in (first, second)}

    def named(kind: str, name: str) -> bool:
        said = f"name servers disagree about the {kind} {name}:"
        return all(said in server.process.text()[begin:] for server, begin in before.items())

    relay.close()
    eventually(lambda: named("broker", "broker-a") and named("topic", "Orders"), WITHIN_S, every_s=0.1)
    listed = json.loads(Http(admin_port).ask("/api/v1/disagreements?kind=broker").body)["items"]
    assert [one["name"] for one in listed] == ["broker-a"]
    capsys.readouterr()
    assert main(["diff", *peers.split(";"), "--settle", "1", "--json"]) == 1
    found = {(one["kind"], one["name"]): one["views"] for one in json.loads(capsys.readouterr().out)["differences"]}
    assert [view is None for view in found["broker", "broker-a"].values()] == [False, True, False]
    assert ("broker", "broker-b") not in found

    with java.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-b"})
    eventually(lambda: named("topic", "Payments"), WITHIN_S, every_s=0.1)

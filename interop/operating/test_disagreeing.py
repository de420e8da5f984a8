"""Name servers that compare themselves: three of them, one Java's, two real brokers, and a link that is cut."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from interop.operating.watching import DISAGREE, Eyes, Watched, is_calm
from rocketns.__main__ import main

BROKERS_WITHIN_S = 5.0
TOPICS_WITHIN_S = 10.0
# Names are read every 10 s, then twice.
OTHERS_TOPICS_WITHIN_S = 15.0


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(RocketnsServer, tmp_path) as started:
        yield started


def test_three_name_servers_say_what_they_disagree_about(
    fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """one broker loses its link to one name server; then Java's loses a permission. Both others say so."""
    *ports, admin_port, other_admin_port = (free_port() for _ in range(5))
    peers = ";".join(f"127.0.0.1:{port}" for port in ports)
    mine = {"rocketns.peers": peers, "rocketns.peerLookupsPerSecond": 100}
    first = fleet.name_server(mine | {"listenPort": ports[0], "rocketns.adminPort": admin_port})
    second = fleet.name_server(mine | {"listenPort": ports[1], "rocketns.adminPort": other_admin_port})
    java = fleet.java({"listenPort": ports[2]})
    relay = fleet.relay(second.port)
    cut_off = fleet.unregistered("broker-a", [first, relay, java], topics=["Orders"])
    views.have_registered(cut_off, first, second, java)
    fleet.broker("broker-b", first, second, java, topics=["Orders", "Payments"])
    assert main(["diff", *peers.split(";"), "--settle", "20"]) == 0
    eventually(lambda: is_calm(first) and is_calm(second), 120.0, every_s=0.2)

    eyes = fleet.closes(Eyes(tmp_path / "prometheus", (admin_port, other_admin_port)))
    logs = [Watched(server) for server in (first, second)]
    relay.close()
    took = [log.named_within("broker", "broker-a", BROKERS_WITHIN_S) for log in logs]
    took += eyes.see("broker-a")
    took += [log.named_within("topic", "Orders", TOPICS_WITHIN_S) for log in logs]
    assert not any(log.says(DISAGREE.format("broker", "broker-b")) for log in logs)
    capsys.readouterr()
    began_s = time.monotonic()
    assert main(["diff", *peers.split(";"), "--settle", "1", "--json"]) == 1
    took.append(f"rocketns diff: {time.monotonic() - began_s:.1f} s, of which 1 s waits for what is under way")
    found = {(one["kind"], one["name"]): one["views"] for one in json.loads(capsys.readouterr().out)["differences"]}
    assert [view is None for view in found["broker", "broker-a"].values()] == [False, True, False]
    assert ("broker", "broker-b") not in found

    log = Watched(first)
    with java.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-b"})
    took.append(log.named_within("topic", "Payments", OTHERS_TOPICS_WITHIN_S))
    with capsys.disabled():
        print("", *took, *eyes.left_out, sep="\n")

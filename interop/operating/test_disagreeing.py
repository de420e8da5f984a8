"""Three name servers that compare themselves, one of them Java's, two real brokers, and a link that is cut.

The log, the API, the metrics, the status page, the alert and `rocketns diff` name what differs, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, sync_playwright

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns.__main__ import main
from tests.admin import prometheus
from tests.admin.http import Http
from tests.support.browser import ARGUMENTS, CHROMIUM

DISAGREE = "name servers disagree about the {} {}:"
OVER = "name servers agree again about the"
# Against hangs: a broker is named within 5 s, a topic within 15 s.
WITHIN_S = 240.0
# The rules' own conditions last a minute.
HELD = "1s"
pytestmark = pytest.mark.needs("chromium", "prometheus")


class Log:
    """The log of a name server from now on."""

    def __init__(self, server: NameServer) -> None:
        self._file = server.home / "stdout.log"
        self._from = self._file.stat().st_size

    def names(self, kind: str, name: str) -> bool:
        return DISAGREE.format(kind, name).encode() in self._file.read_bytes()[self._from :]


class Eyes:
    """API, metrics, status page and alerts of name servers that agree so far."""

    def __init__(self, home: Path, ports: list[int]) -> None:
        self._ports = ports
        self._stack = ExitStack()
        playwright = self._stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        self._stack.callback(browser.close)
        self._page: Page = browser.new_page()
        self._page.goto(f"http://127.0.0.1:{ports[0]}/")
        self._page.locator("#servers tr").nth(2).wait_for(timeout=WITHIN_S * 1000)
        assert self._page.locator("#differ li").count() == 0
        self._prometheus = prometheus.Prometheus(home, *ports, held=HELD)
        self._stack.callback(self._prometheus.stop)
        eventually(lambda: len(self._prometheus.query("up == 1")) == len(ports), WITHIN_S, every_s=0.2)
        assert self._alerts() == set()

    def close(self) -> None:
        """End browser and Prometheus. Until then playwright's loop runs in this thread, and no other may."""
        self._stack.close()

    def see(self, broker: str) -> bool:
        """Whether each of them names the broker, and no other."""
        text = f"Name servers disagree about broker {broker}"
        for port in self._ports:
            if [one["name"] for one in self._asked(port, "disagreements", kind="broker")["items"]] != [broker]:
                return False
            if text not in [one["text"] for one in self._asked(port, "status")["reasons"]]:
                return False
            if 'fleet_disagreements{kind="broker"} 1.0' not in Http(port).ask("/metrics").text:
                return False
        listed = self._page.locator("#differ li", has_text=f"broker {broker}").count()
        on_page = self._page.locator("#reasons", has_text=text).count() and listed
        return bool(on_page) and {(f"127.0.0.1:{port}", "broker") for port in self._ports} <= self._alerts()

    def _asked(self, port: int, name: str, **parameters: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Http(port).ask(f"/api/v1/{name}?{urlencode(parameters)}").body)
        return found

    def _alerts(self) -> set[tuple[str, str]]:
        """Name server and kind of thing of each alert FleetDiffers."""
        labels = [one["labels"] for one in self._prometheus.alerts() if one["labels"]["alertname"] == "FleetDiffers"]
        return {(one["instance"], one["kind"]) for one in labels}


def is_calm(server: NameServer) -> bool:
    """Whether the server compares itself with both others, and every disagreement that it logged is over."""
    text = (server.home / "stdout.log").read_text("utf-8", "replace")
    return text.count("is compared with this one") >= 2 and text.count(" disagree about the ") == text.count(OVER)


@pytest.fixture
def eyes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_three_name_servers_say_what_they_disagree_about(
    fleet: Fleet, eyes: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One broker loses its link to one name server; then Java's loses a permission. Both others say so."""
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
    eventually(lambda: main(["diff", *peers.split(";"), "--settle", "1"]) == 0, WITHIN_S)
    eventually(lambda: is_calm(first) and is_calm(second), WITHIN_S, every_s=0.2)

    seen = Eyes(tmp_path / "prometheus", [admin_port, other_admin_port])
    eyes.callback(seen.close)
    logs = [Log(server) for server in (first, second)]
    relay.close()
    eventually(lambda: all(log.names("broker", "broker-a") for log in logs), WITHIN_S, every_s=0.1)
    eventually(lambda: seen.see("broker-a"), WITHIN_S, every_s=0.2)
    eyes.close()
    eventually(lambda: all(log.names("topic", "Orders") for log in logs), WITHIN_S, every_s=0.1)
    assert not any(log.names("broker", "broker-b") for log in logs)
    capsys.readouterr()
    assert main(["diff", *peers.split(";"), "--settle", "1", "--json"]) == 1
    found = {(one["kind"], one["name"]): one["views"] for one in json.loads(capsys.readouterr().out)["differences"]}
    assert [view is None for view in found["broker", "broker-a"].values()] == [False, True, False]
    assert ("broker", "broker-b") not in found

    log = Log(first)
    with java.connect() as client:
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-b"})
    eventually(lambda: log.names("topic", "Payments"), WITHIN_S, every_s=0.1)

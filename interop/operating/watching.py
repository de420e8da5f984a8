"""How operators are told that name servers disagree: log, API, metrics, page and alert, each with the time it took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.admin import prometheus
from tests.admin.http import Http
from tests.support.running.chromium import ARGUMENTS, CHROMIUM

DISAGREE = "name servers disagree about the {} {}:"
OVER = "name servers agree again about the"
# What is promised is printed beside what it took. The machine that runs this may be busy.
BUSY_S = 60.0
SEEN_WITHIN_S = 30.0
# The rules' own conditions last a minute.
HELD = "1s"


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
        return f"log, {kind} {name}: {took_s:.1f} s after the change, {within_s:.0f} s promised"


def is_calm(server: NameServer) -> bool:
    """Whether the server compares itself with both others, and every disagreement that it logged is over."""
    text = (server.home / "stdout.log").read_text("utf-8", "replace")
    return text.count("is compared with this one") >= 2 and text.count(" disagree about the ") == text.count(OVER)


class Eyes:
    """API, metrics, status page and alerts of name servers that agree so far. ``left_out`` says what is not here."""

    def __init__(self, home: Path, admin_ports: Sequence[int]) -> None:
        self._ports = admin_ports
        self._stack = ExitStack()
        self.left_out: list[str] = []
        self._page = self._open_page()
        self._prometheus = self._start_prometheus(home)
        self._began_s = time.monotonic()  # the change follows at once

    def see(self, broker: str) -> list[str]:
        """Wait until each of them names the broker, and no other. How long each took, in words. Then all are closed."""
        looks: dict[str, Callable[[], object]] = {
            "API": partial(self._in_api, broker),
            "status": partial(self._in_status, broker),
            "metrics": self._in_metrics,
        }
        if self._page is not None:
            looks["page"] = partial(self._on_page, self._page, broker)
        if self._prometheus is not None:
            looks["alert"] = partial(self._in_alerts, self._prometheus)
        began_s = self._began_s
        took = []
        while looks:
            for name in [name for name, look in looks.items() if look()]:
                del looks[name]
                took.append(f"{name}, broker {broker}: {time.monotonic() - began_s:.1f} s after the change")
            assert time.monotonic() - began_s < SEEN_WITHIN_S + BUSY_S, f"{list(looks)} said nothing"
            time.sleep(0.1)
        self.close()
        return took

    def close(self) -> None:
        """End browser and Prometheus. Until then playwright's loop runs in this thread, and no other may."""
        self._stack.close()

    def _asked(self, port: int, name: str, **parameters: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Http(port).ask(f"/api/v1/{name}?{urlencode(parameters)}").body)
        return found

    def _in_api(self, broker: str) -> bool:
        found = [self._asked(port, "disagreements", kind="broker")["items"] for port in self._ports]
        return all([one["name"] for one in items] == [broker] for items in found)

    def _in_status(self, broker: str) -> bool:
        said = [[one["text"] for one in self._asked(port, "status")["reasons"]] for port in self._ports]
        return all(f"Name servers disagree about broker {broker}" in texts for texts in said)

    def _in_metrics(self) -> bool:
        texts = [Http(port).ask("/metrics").text for port in self._ports]
        return all('fleet_disagreements{kind="broker"} 1.0' in text for text in texts)

    def _open_page(self) -> Page | None:
        if CHROMIUM is None:
            self.left_out.append("STATUS PAGE NOT TRIED: no Chromium is installed")
            return None
        playwright = self._stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        self._stack.callback(browser.close)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{self._ports[0]}/")
        page.locator("#servers tr").nth(2).wait_for(timeout=60_000)
        assert page.locator("#differ li").count() == 0
        return page

    def _on_page(self, page: Page, broker: str) -> bool:
        said = page.locator("#reasons", has_text=f"Name servers disagree about broker {broker}")
        return bool(said.count() and page.locator("#differ li", has_text=f"broker {broker}").count())

    def _start_prometheus(self, home: Path) -> prometheus.Prometheus | None:
        if not prometheus.IS_HERE:
            self.left_out.append(prometheus.LEFT_OUT)
            return None
        started = prometheus.Prometheus(home, *self._ports, held=HELD)
        self._stack.callback(started.stop)
        eventually(lambda: len(started.query("up == 1")) == len(self._ports), 60.0, every_s=0.2)
        assert self._differing(started) == set()
        return started

    def _differing(self, started: prometheus.Prometheus) -> set[tuple[str, str]]:
        """Name server and kind of thing of each alert FleetDiffers."""
        labels = [one["labels"] for one in started.alerts() if one["labels"]["alertname"] == "FleetDiffers"]
        return {(one["instance"], one["kind"]) for one in labels}

    def _in_alerts(self, started: prometheus.Prometheus) -> bool:
        return {(f"127.0.0.1:{port}", "broker") for port in self._ports} <= self._differing(started)

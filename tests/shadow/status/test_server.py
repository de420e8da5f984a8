"""The status port: its answers, who may switch, and that a command can."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from interop.harness.ports import free_port
from rocketns.errors import StartupError
from rocketns.shadow import switching
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.status import server as status
from rocketns.shadow.status.server import StatusServer, Texts
from tests.admin.scraping import Scraped
from tests.shadow.counting.builders import kept
from tests.shadow.status.standings import standing

CHANGE = {"X-Rocketns-Change": "yes"}
SERVE = "/switch?serve_percent=100"


class Running:
    """A status port on a loop of its own thread; ``switched`` is what was asked for."""

    def __init__(self) -> None:
        self.switched: list[int] = []
        self.counts: Counts | None = None
        self.loop = asyncio.new_event_loop()
        self.server = StatusServer(
            ("127.0.0.1", 0), lambda: standing(self.counts), lambda percent, _: self.switched.append(percent)
        )

    def do(self, call: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await call()

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(30)

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def _ignore(_percent: int, _why: str) -> None:
    """Nobody switches."""


@contextmanager
def running() -> Iterator[Running]:
    one = Running()
    thread = Thread(target=one.loop.run_forever)
    thread.start()
    try:
        one.do(one.server.start)
        yield one
        one.do(one.server.stop)
    finally:
        one.loop.call_soon_threadsafe(one.loop.stop)
        thread.join()
        one.loop.close()


@pytest.fixture(scope="module")
def port() -> Iterator[Running]:
    with running() as one:
        yield one


def test_the_page_its_files_and_the_counts_are_served(port: Running) -> None:
    for path, has in (("/", "1 of 41 answers"), ("/page.css", ":root"), ("/page.js", '"use strict"')):
        found, text = port.ask("GET", path)
        assert (found, has in text) == (200, True)
    found, text = port.ask("GET", "/api/counts")
    counts = json.loads(text)
    assert (counts["judged"], counts["unwanted"], counts["skipped"]) == (41, 1, 2)
    assert counts["requests"]["GET_ROUTEINFO_BY_TOPIC"] == {"equal": 40}


QUERIES = ("", "?serve_percent=", "?serve_percent=101", "?serve_percent=-1", "?serve_percent=1.5", "?serve_percent=x",
           "?serve_percent=1&serve_percent=2", "?percent=5", "?serve_percent=9999")  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_a_switch_to_no_percentage_is_refused(port: Running, query: str) -> None:
    before = list(port.switched)
    assert port.ask("POST", f"/switch{query}", headers=CHANGE)[0] == 400
    assert port.switched == before


def test_a_body_is_refused_by_its_head(port: Running) -> None:
    assert port.ask("POST", SERVE, b" " * 2000, CHANGE)[0] == 413


def test_a_web_page_of_another_site_cannot_switch(port: Running) -> None:
    before = list(port.switched)
    assert port.ask("POST", SERVE)[0] == 403
    assert port.ask("POST", SERVE, headers=CHANGE | {"Host": "evil.example"})[0] == 421
    assert port.switched == before


def test_another_machine_cannot_switch(port: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_is_here", lambda _: False)
    code, text = port.ask("POST", SERVE, headers=CHANGE)
    assert (code, "SIGUSR1" in text) == (403, True)


@pytest.mark.parametrize(("host", "is_here"), [("127.0.0.1", True), ("::1", True), ("10.0.0.1", False), (None, False),
                                               ("elsewhere", False)])  # fmt: skip
def test_this_machine_is_the_loopback(host: str | None, is_here: bool) -> None:
    assert status._is_here(host) is is_here


def test_the_command_switches_and_says_so(port: Running, capsys: pytest.CaptureFixture[str]) -> None:
    where = f"127.0.0.1:{port.server.port}"
    assert switching.main(["--status", where, "serve", "--percent", "10"]) == 0
    assert switching.main(["--status", where, "serve"]) == 0
    assert switching.main(["--status", where, "pass"]) == 0
    assert port.switched[-3:] == [10, 100, 0]
    assert capsys.readouterr().out.splitlines()[0] == "rocketns serves 10 % of the connections"


def test_the_command_says_why_it_is_refused(
    port: Running, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(status, "_is_here", lambda _: False)
    assert switching.main(["--status", f"127.0.0.1:{port.server.port}", "serve"]) == 1
    assert "only this machine may switch" in capsys.readouterr().err


def test_the_command_says_that_no_shadow_answers(capsys: pytest.CaptureFixture[str]) -> None:
    where = f"127.0.0.1:{free_port()}"
    assert switching.main(["--status", where, "pass"]) == 2
    assert capsys.readouterr().err.startswith(f"rocketns switch: no shadow answers at {where}")


@pytest.mark.parametrize("words", [[], ["serve"], ["--status", "x", "serve"], ["--status", "h:1", "stop"],
                                   ["--status", "h:1", "serve", "--percent", "0"]])  # fmt: skip
def test_a_wrong_option_of_the_command_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        switching.main(words)
    assert ended.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(port: Running) -> None:
    second = StatusServer(("127.0.0.1", port.server.port), standing, _ignore)
    with pytest.raises(StartupError, match="the status port"):
        asyncio.run(second.start())


def test_all_who_ask_within_a_second_get_the_same_text() -> None:
    now, made = [10.0], []
    texts = Texts(lambda: now[0])

    def make() -> bytes:
        made.append(1)
        return b"%d" % len(made)

    assert [texts.of("/", make), texts.of("/", make)] == [b"1", b"1"]
    now[0] += 1.0
    assert texts.of("/", make) == b"2"
    texts.clear()
    assert texts.of("/", make) == b"3"


def test_the_metrics_of_a_shadow_are_what_it_counted() -> None:
    with running() as port:
        seen = Scraped(port.ask("GET", "/metrics")[1])
    assert seen("rocketns_shadow_pairs_total", code="GET_ROUTEINFO_BY_TOPIC", outcome=Outcome.EQUAL) == 40
    assert seen("rocketns_shadow_unwanted_total", outcome="different") == 1
    assert seen("rocketns_shadow_listed_total", id="limits") == 7
    assert seen("rocketns_shadow_skipped_total") == 2
    assert seen("rocketns_shadow_relay", of="open") == 3
    assert seen("rocketns_shadow_last_unwanted_timestamp_seconds") == kept().at_ms / 1000


def test_the_metrics_say_which_part_is_served() -> None:
    port = Running()
    port.server = StatusServer(("127.0.0.1", 0), lambda: standing(serve_percent=25), _ignore)
    seen = Scraped(port.server._metrics.text().decode())
    assert seen("rocketns_shadow_served_ratio") == 0.25

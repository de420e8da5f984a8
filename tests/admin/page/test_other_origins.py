"""A page of another origin, in a browser on the same network, changes nothing.

The name server is asked by a host name over HTTP, so the browser sends none of the headers by which it tells trusted
addresses who asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.admin.conftest import Managed
from tests.support.running.chromium import ARGUMENTS, CHROMIUM

HERE, ELSEWHERE = "ns.example", "evil.example"
NAMES = f"--host-resolver-rules=MAP {HERE} 127.0.0.1, MAP {ELSEWHERE} 127.0.0.1"
TRICKS = {
    "an image": "new Promise(over => { const i = new Image(); i.onload = i.onerror = over; i.src = url; })",
    "a fetch": "fetch(url, {method: 'POST', mode: 'no-cors', body: ''})",
    "a fetch with the header": "fetch(url, {method: 'POST', headers: {'X-Rocketns-Change': 'yes'}})",
    "a fetch that deletes": "fetch(url, {method: 'DELETE'})",
}
LEAVES = {
    "a link": "location.href = url;",
    "a form": "const f = document.createElement('form'); f.method = 'POST'; f.action = url; "
    "document.body.append(f); f.submit();",
}  # fmt: skip


class Empty(BaseHTTPRequestHandler):
    """Answers every request with an empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Page]:
    """A page of another origin."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    web = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, NAMES])
        page = browser.new_page()
        page.goto(f"http://{ELSEWHERE}:{web.server_port}/")
        yield page
        browser.close()
    web.shutdown()
    web.server_close()


@pytest.fixture
def managed(start_managed: Callable[..., Managed]) -> Managed:
    return start_managed({"rocketns.adminHosts": HERE})


def assert_asked_in_vain(managed: Managed) -> None:
    assert managed.admin is not None
    assert managed.admin.gate.accepted
    assert managed.http.ask("/readyz").status == 200


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_page_of_another_origin_cannot_drain(managed: Managed, elsewhere: Page, trick: str) -> None:
    elsewhere.evaluate(f"url => {trick}.then(() => null, () => null)", f"http://{HERE}:{managed.http.port}/drainz")
    assert_asked_in_vain(managed)


@pytest.mark.parametrize("leave", LEAVES.values(), ids=LEAVES)
def test_nor_one_that_sends_its_reader_there(managed: Managed, elsewhere: Page, leave: str) -> None:
    home = elsewhere.url
    with elsewhere.expect_navigation():
        elsewhere.evaluate(f"url => {{ {leave} }}", f"http://{HERE}:{managed.http.port}/drainz")
    assert_asked_in_vain(managed)
    elsewhere.goto(home)

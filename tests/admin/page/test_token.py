"""The status page of a server that asks for tokens, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.admin.conftest import Managed
from tests.admin.page.conftest import WITHIN_MS
from tests.admin.population import Broker
from tests.support.certificates import Files, authority
from tests.support.tlsfiles import tls_properties

READ, PROBE = "token-of-read-0123456789", "token-of-probe-0123456789"
# Chromium's own words for 401, for 403, and for a stream that the server ends.
REFUSED = ("Failed to load resource: the server responded with a status of 40",
           "Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING")  # fmt: skip


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "tokens"
    file.write_text(f"read {READ}\nprobe {PROBE}\n")
    file.chmod(0o600)
    return {"rocketns.adminTokensFile": file}


@pytest.fixture
def managed(start_managed: Callable[..., Managed], properties: dict[str, object]) -> Managed:
    return start_managed(properties)


@pytest.fixture
def browsing(chromium: Browser) -> Iterator[BrowserContext]:
    """Afterwards the console has nothing but the refusals of requests without the right token."""
    context = chromium.new_context(ignore_https_errors=True)
    problems: list[str] = []
    context.on("console", lambda one: problems.append(one.text) if one.type in ("error", "warning") else None)
    context.on("weberror", lambda one: problems.append(str(one.error)))
    yield context
    context.close()
    assert [one for one in problems if not one.startswith(REFUSED)] == []


def opened(browsing: BrowserContext, managed: Managed, scheme: str = "http") -> Page:
    page = browsing.new_page()
    page.set_default_timeout(WITHIN_MS)
    page.goto(f"{scheme}://127.0.0.1:{managed.http.port}/")
    return page


def give(page: Page, token: str) -> None:
    page.locator("#token").wait_for()
    page.fill("#token-text", token)
    page.keyboard.press("Enter")


def is_live(page: Page) -> bool:
    page.locator("#live", has_text="live").wait_for()
    return not page.locator("#token").is_visible()


def test_the_page_asks_once_and_keeps_the_token_for_its_tab(managed: Managed, browsing: BrowserContext) -> None:
    with Broker(managed, "a") as broker:
        broker.register(["orders"])
        page = opened(browsing, managed)
        give(page, READ)
        assert is_live(page)
        page.locator("#brokers tr", has_text="10.0.0.1:10911").wait_for()
        page.locator("#topics button", has_text="orders").click()
        page.locator("#route table").wait_for()
        page.reload()
        assert is_live(page)
    other = opened(browsing, managed)
    other.locator("#token").wait_for()
    assert other.evaluate("sessionStorage.length") == 0


def test_news_come_with_the_token(managed: Managed, browsing: BrowserContext) -> None:
    """An EventSource could not send it."""
    page = opened(browsing, managed)
    give(page, READ)
    assert is_live(page)
    with Broker(managed, "late") as broker:
        broker.register()
        page.locator("#changes li", has_text="late:0 at 10.0.0.1:10911 registered").wait_for()


@pytest.mark.parametrize(
    ("token", "says"),
    [("unknown-0123456789", "The server does not know this token."), (PROBE, "This token lacks the class read."),
     ("two words", "A token has no spaces, and ASCII characters only.")],
)  # fmt: skip
def test_a_token_that_does_not_fit_is_asked_for_again(
    managed: Managed, browsing: BrowserContext, token: str, says: str
) -> None:
    page = opened(browsing, managed)
    give(page, token)
    page.locator("#token-why", has_text=says).wait_for()
    give(page, READ)
    assert is_live(page)


def test_while_it_asks_the_page_asks_the_server_nothing(managed: Managed, browsing: BrowserContext) -> None:
    asked: list[str] = []
    browsing.on("request", lambda one: asked.append(one.url) if "/api/" in one.url else None)
    page = opened(browsing, managed)
    page.locator("#token").wait_for()
    page.wait_for_timeout(4_000)  # longer than any of its intervals
    assert len(asked) == 1


def test_the_token_is_nowhere_but_in_the_headers_of_requests(managed: Managed, browsing: BrowserContext) -> None:
    urls: list[str] = []
    browsing.on("request", lambda one: urls.append(one.url))
    page = opened(browsing, managed)
    give(page, READ)
    assert is_live(page)
    assert READ not in page.url + page.content() + "".join(urls)
    assert browsing.cookies() == []
    assert page.evaluate("localStorage.length") == 0


def test_a_token_that_is_withdrawn_is_asked_for_again(
    managed: Managed, browsing: BrowserContext, tmp_path: Path
) -> None:
    page = opened(browsing, managed)
    give(page, READ)
    assert is_live(page)
    (tmp_path / "tokens").write_text(f"probe {PROBE}\n")
    assert managed.admin is not None
    managed.admin.reread()
    page.locator("#token-why", has_text="does not know").wait_for()


def test_the_question_shuts_nobody_out(managed: Managed, browsing: BrowserContext) -> None:
    page = opened(browsing, managed)
    page.locator("#token").wait_for()
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []


def test_the_page_works_over_tls(
    start_managed: Callable[..., Managed], properties: dict[str, object], browsing: BrowserContext, tmp_path: Path
) -> None:
    files = Files.write(tmp_path / "tls", authority("ours").issue("localhost"))
    managed = start_managed(properties | tls_properties(files) | {"rocketns.adminTls": "true"})
    page = opened(browsing, managed, "https")
    give(page, READ)
    assert is_live(page)

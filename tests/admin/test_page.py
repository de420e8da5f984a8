"""The status page in a real Chromium: what an operator sees, what works by keyboard, and tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from interop.harness import codes
from interop.harness.wire import eventually
from rocketns.admin.page import stream
from tests.admin.conftest import V4_9_4, V5_5_0, Broker, Managed
from tests.behaviour.calls import put_kv
from tests.support.browser import ARGUMENTS, CHROMIUM
from tests.support.certificates import Files, authority
from tests.support.tlsfiles import tls_properties

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

WITHIN_MS = 180_000  # all that the page is to show, on a busy machine
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
READ, PROBE = "token-of-read-0123456789", "token-of-probe-0123456789"
# Chromium's own words for 401, for 403, and for a stream that the server ends.
REFUSED = ("Failed to load resource: the server responded with a status of 40",
           "Failed to load resource: net::ERR_INCOMPLETE_CHUNKED_ENCODING")  # fmt: skip
FULL_GROUPS = 2  # have all the topics
BROKERS, TOPICS, LOST, LATE = 300, 10_000, 20, 4


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the module. Until it ends, playwright's loop runs in this thread, so no other loop may."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Open the page of a server. After the test the console must be empty, and no request may have gone elsewhere."""
    problems: list[str] = []
    home = ""
    with ExitStack() as stack:

        def asked(request: Request) -> None:
            if not request.url.startswith((home, "about:")):
                problems.append(request.url)

        def open_one(
            managed: Managed, width: int = 1600, scheme: Any = "light", path: str = "/", *, height: int = 1000,
            locale: str = "en-GB",
        ) -> Page:  # fmt: skip
            nonlocal home
            home = f"http://127.0.0.1:{managed.http.port}"
            context = chromium.new_context(
                reduced_motion="reduce", has_touch=width < 600, locale=locale, timezone_id="Asia/Shanghai",
                color_scheme=scheme, viewport={"width": width, "height": height},
            )  # fmt: skip
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(WITHIN_MS)
            page.on("console", lambda one: problems.append(one.text) if one.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda one: problems.append(f"a dialog opened: {one.message}"))
            page.on("request", asked)
            page.goto(home + path)
            page.locator("#live", has_text=re.compile("live|实时更新")).wait_for()
            return page

        yield open_one
    assert problems == []


def ends_at(page: Page, selector: str) -> float:
    """The lower edge of an element in px of the page."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def is_narrow_enough(page: Page, width: int) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") <= width)


def shut_out(page: Page) -> list[object]:
    """What keeps people from using the page, by axe's rules."""
    return [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in Axe().run(page).response["violations"]]


def fill(managed: Managed, stack: ExitStack, brokers: int = 6, topics: int = 30) -> list[Broker]:
    """Groups of a master and a slave in two clusters. The first few have all the topics."""
    names = [f"order-{number:05}" for number in range(topics)]
    made = []
    for number in range(brokers):
        group, is_slave = divmod(number, 2)
        broker = Broker(managed, f"broker-{group:03}", is_slave, addr=f"10.0.{group}.{is_slave + 1}:10911",
                        cluster=f"cluster-{group % 2}", version=V4_9_4 if group % 5 == 4 else V5_5_0)  # fmt: skip
        broker.register(names if group < FULL_GROUPS and not is_slave else [])
        made.append(stack.enter_context(broker))
    return made


def test_the_page_shows_changes_without_a_reload(managed: Managed, open_page: Open) -> None:
    with Broker(managed, "first") as first, Broker(managed, "second", addr="10.0.0.2:1") as second:
        first.register()
        page = open_page(managed)
        page.locator("#verdict.ok").wait_for()
        second.register()
        page.locator("#changes li", has_text="second (master) at 10.0.0.2:1 registered").wait_for()
        page.locator("#brokers tr", has_text="second").wait_for()
        expect(page.locator("#brokers-count")).to_have_text("2 brokers")
        page.fill("#brokers-find", "second")
        expect(page.locator("#brokers-count")).to_have_text("1 of 2 brokers shown")
        managed.advance(100_000)
        page.locator("#verdict.attention").wait_for()
        first.beat()
        second.beat()
        page.locator("#reasons", has_text="Heartbeats are late").wait_for(state="detached")


def test_a_topic_is_found_and_opened_by_keyboard_alone_and_by_a_link(managed: Managed, open_page: Open) -> None:
    with ExitStack() as stack:
        fill(managed, stack)[0].register(["100%25%zz"])
        page = open_page(managed)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # the link that skips to it
        page.keyboard.type("100")
        page.locator("#topics-count", has_text="1 topic").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator("#route h3", has_text="100%25%zz").wait_for()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") == "find"
        page = open_page(managed, path="/#topic=100%2525%zz")  # the last one encodes nothing
        page.locator("#route h3", has_text="100%25%zz").wait_for()


def test_names_from_the_network_are_shown_and_never_run(managed: Managed, open_page: Open) -> None:
    with Broker(managed, HOSTILE, addr=f"10.0.0.1:1{HOSTILE}", cluster=f"\u202e{HOSTILE}") as broker:
        broker.register([HOSTILE])
        put_kv(broker.client, HOSTILE, HOSTILE, HOSTILE)
        page = open_page(managed, 390)
        page.fill("#find", "<img")
        page.locator("#topics-count", has_text="2 topics").wait_for()
        page.locator("#topics a").first.click()
        page.locator("#route h3").wait_for()
        page.locator("#changes li", has_text=HOSTILE).first.wait_for()
        page.locator("#brokers tr", has_text=HOSTILE).wait_for()  # read beside the changes; there is one
        assert page.locator("main img, main script").count() == 0
        assert "\\u202e" in page.locator("#brokers tr").inner_text()
        assert is_narrow_enough(page, 390)


def test_a_page_that_hears_nothing_says_that_it_is_old(
    managed: Managed, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PERIOD_S", 600.0)
    open_page(managed).locator("#live.lost", has_text="what is shown is old").wait_for()


def test_nothing_is_red_while_a_start_still_waits(start_managed: Callable[..., Managed], open_page: Open) -> None:
    managed = start_managed({"needWaitForService": "true"})
    page = open_page(managed)
    expect(page.locator("#reasons li")).to_contain_text(["still starting"], timeout=WITHIN_MS)
    with Broker(managed, "second", 1) as slave:
        slave.register()
        page.locator("#brokers td.state.live").wait_for()
        assert page.locator(".critical:visible").count() == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """A broker is lost, the last few are late, and a permission is wiped."""
    managed = Managed(tmp_path_factory.mktemp("large"))
    with ExitStack() as stack:
        stack.callback(managed.stop)
        brokers = fill(managed, stack, BROKERS, TOPICS)
        brokers.pop(LOST).client.close()
        eventually(lambda: managed.call(lambda: len(managed.controller.facts.tables.broker_live_table)) == BROKERS - 1)
        for _ in range(70):  # one step would be a stall
            managed.advance(1_000)
        for broker in brokers[:-LATE]:
            broker.beat()
        with managed.connect() as client:
            client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-005"})
        yield managed


@pytest.mark.parametrize(
    ("width", "height", "scheme", "language"), [(1280, 800, "light", "zh"), (390, 844, "dark", "en")]
)
def test_a_large_fleet_in_trouble_fits_the_screen_and_shuts_nobody_out(
    large: Managed, open_page: Open, width: int, height: int, scheme: str, language: str
) -> None:
    """The first screen has the verdict and numbers; a wide one also a cell for each broker, the lost one too. Lists
    have their first lines. A topic is found and opened."""
    page = open_page(large, width, scheme, f"/?lang={language}", height=height)
    for trouble in ("lost", "late", "wiped"):
        page.locator(f"#reasons li[data-name={trouble}]").wait_for()
    page.locator("#brokers tr").first.wait_for()
    expect(page.locator("#cells .cell")).to_have_count(BROKERS, timeout=WITHIN_MS)
    expect(page.locator("#cells .cell.lost")).to_have_count(1)
    for place in ("#verdict", "#figures", *(["#states", "#cells"] if width > height else [])):
        assert ends_at(page, place) <= height, place
    assert is_narrow_enough(page, width)
    page.fill("#find", "order-00123")
    page.locator("#topics-count", has_text="1").wait_for()
    page.locator("#topics a").first.click()
    page.locator("#route table").wait_for()
    assert is_narrow_enough(page, width)
    assert page.locator("#brokers tr").count() <= 25
    assert page.locator("#topics a").count() <= 15
    assert shut_out(page) == []


def test_a_trouble_has_its_command_and_leads_to_rows_from_which_links_go_on(large: Managed, open_page: Open) -> None:
    page = open_page(large, 1280)
    wiped = page.locator("#reasons li[data-name=wiped]")
    expect(wiped.locator("code")).to_contain_text(["mqadmin addWritePerm -n 127.0.0.1:"], timeout=WITHIN_MS)
    wiped.locator("button").click()
    expect(wiped.locator("button")).to_have_text(re.compile("Copied|Selected: press Ctrl"))
    wiped.locator("a", has_text="Show these brokers").click()
    expect(page.locator("#brokers .name > .whole")).to_have_text(["broker-005"] * 2, timeout=WITHIN_MS)
    expect(page.locator("#state-wiped")).to_have_attribute("aria-pressed", "true")
    page.locator("#brokers a", has_text="topics").click()
    expect(page.locator("#topics a")).to_have_text(["broker-005", "cluster-1"], timeout=WITHIN_MS)
    page.locator("#topics a").first.click()
    page.locator("#route a", has_text="broker-005").click()
    expect(page.locator("#brokers-find")).to_have_value("broker-005")


def test_heads_order_the_rows_and_rows_with_the_same_stand_by_name(large: Managed, open_page: Open) -> None:
    page = open_page(large, 1280)
    page.locator("#state-live").click()
    names = page.locator("#brokers .name > .whole")
    expect(names.nth(0)).to_have_text("broker-000", timeout=WITHIN_MS)
    page.locator("th[data-sort=broker] button").click(click_count=2)
    expect(names.nth(0)).to_have_text("broker-147")
    page.locator("th[data-sort=version] button").click()
    expect(names.nth(0)).to_have_text("broker-004")  # the first of the oldest version
    page.locator("#topics-next").click()
    expect(page.locator("#topics a").first).to_have_text("broker-015", timeout=WITHIN_MS)
    page.locator("th[data-sort=brokers] button").click(click_count=2)
    expect(page.locator("#topics a").first).to_have_text(re.compile("cluster-[01]"), timeout=WITHIN_MS)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(f"read {READ}\nprobe {PROBE}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens an address. Afterwards the console has nothing but refusals of requests without the right token."""
    context = chromium.new_context(ignore_https_errors=True)
    problems: list[str] = []
    context.on("console", lambda one: problems.append(one.text) if one.type in ("error", "warning") else None)
    context.on("weberror", lambda one: problems.append(str(one.error)))

    def open_one(url: str) -> Page:
        page = context.new_page()
        page.set_default_timeout(WITHIN_MS)
        page.goto(url)
        return page

    yield open_one
    context.close()
    assert [one for one in problems if not one.startswith(REFUSED)] == []


def give(page: Page, token: str) -> None:
    page.locator("#token").wait_for()
    page.fill("#token-text", token)
    page.keyboard.press("Enter")


def is_live(page: Page) -> bool:
    page.locator("#live", has_text="live").wait_for()
    return not page.locator("#token").is_visible()


def test_the_page_asks_once_for_a_token_over_tls_and_keeps_it_in_its_tab_alone(
    start_managed: Callable[..., Managed], opened: Callable[[str], Page], tokens: Path, tmp_path: Path
) -> None:
    """News come with the token too, which an EventSource could not send."""
    files = Files.write(tmp_path / "tls", authority("ours").issue("localhost"))
    managed = start_managed(tls_properties(files) | {"rocketns.adminTokensFile": tokens, "rocketns.adminTls": "true"})
    address = f"https://127.0.0.1:{managed.http.port}/"
    page = opened(address)
    urls: list[str] = []
    page.on("request", lambda one: urls.append(one.url))
    page.locator("#token").wait_for()
    assert shut_out(page) == []
    give(page, READ)
    assert is_live(page)
    with Broker(managed, "late") as broker:
        broker.register()
        page.locator("#changes li", has_text="late (master) at 10.0.0.1:10911 registered").wait_for()
    page.reload()
    assert is_live(page)
    assert READ not in page.url + page.content() + "".join(urls)
    assert (page.context.cookies(), page.evaluate("localStorage.length")) == ([], 0)
    other = opened(address)
    other.locator("#token").wait_for()
    assert other.evaluate("sessionStorage.length") == 0

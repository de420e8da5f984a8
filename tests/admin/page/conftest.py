"""The status page in a real browser, and fleets that it shows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from tests.admin.conftest import Managed
from tests.admin.population import V4_9_4, V5_5_0, Broker
from tests.support.running.chromium import ARGUMENTS, CHROMIUM

FULL_GROUPS = 2  # have all the topics
WITHIN_MS = 180_000  # all that the page is to show, on a busy machine
PICTURES = os.environ.get("ROCKETNS_PICTURES")  # a folder for pictures of what the tests see


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the module. Until it ends, playwright's loop runs in this thread, so no other loop may."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: the status page is not tried in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Windows:
    """Pages that stay open, one for each language of a browser and one that can be touched: a new page costs as much as
    three loads. The last `open` says whose page it is, and ``problems`` what the console said since then."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._pages: dict[tuple[str, bool], Page] = {}
        self._home = ""
        self.problems: list[str] = []

    def open(self, managed: Managed, width: int = 1600, scheme: Any = "light", path: str = "/", *,
             height: int = 1000, locale: str = "en-GB") -> Page:  # fmt: skip
        self._home = f"http://127.0.0.1:{managed.http.port}"
        kind = locale, width < 600
        page = self._pages[kind] if kind in self._pages else self._pages.setdefault(kind, self._opened(*kind))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.goto(self._home + path)
        page.locator("#live", has_text=re.compile("live|实时更新")).wait_for()
        return page

    def leave(self) -> None:
        """From now on they ask the server nothing."""
        for page in self._pages.values():
            page.goto("about:blank")
            page.unroute_all()

    def _opened(self, locale: str, has_touch: bool) -> Page:
        context = self._browser.new_context(
            reduced_motion="reduce", has_touch=has_touch, locale=locale, timezone_id="Asia/Shanghai"
        )
        page = context.new_page()
        page.set_default_timeout(WITHIN_MS)
        page.on("console", lambda one: self.problems.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda one: self.problems.append(f"a dialog opened: {one.message}"))
        page.on("request", self._asked)
        return page

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self._home, "about:")):
            self.problems.append(request.url)


Open = Callable[..., Page]


@pytest.fixture(scope="module")
def windows(chromium: Browser) -> Windows:
    return Windows(chromium)


@pytest.fixture
def open_page(windows: Windows) -> Iterator[Open]:
    """Open the page of a server. After the test the console must be empty, and no request may have gone elsewhere."""
    windows.problems.clear()
    yield windows.open
    windows.leave()
    assert windows.problems == []


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def ends_at(page: Page, selector: str) -> float:
    """The lower edge of an element in px of the page."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def is_narrow_enough(page: Page, width: int) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") <= width)


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

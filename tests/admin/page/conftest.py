"""The status page in a real browser, and fleets that it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.admin.conftest import Managed
from tests.admin.population import V4_9_4, V5_5_0, Broker
from tests.support.running.chromium import ARGUMENTS, CHROMIUM

BROKERS, TOPICS = 300, 10_000
FULL_GROUPS = 2  # have all the topics
WITHIN_MS = 180_000  # all that the page is to show, on a busy machine


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the module. Until it ends, playwright's loop runs in this thread, so no other loop may."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: the status page is not tried in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Open the page of a server. After the test the console must be empty, and no request may have gone elsewhere."""
    with ExitStack() as stack:
        problems: list[str] = []

        def run(managed: Managed, width: int = 1600, scheme: Any = "light", path: str = "/", *,
                height: int = 1000, locale: str = "en-GB") -> Page:  # fmt: skip
            context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                           reduced_motion="reduce", has_touch=width < 600, locale=locale,
                                           timezone_id="Asia/Shanghai")  # fmt: skip
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(WITHIN_MS)
            home = f"http://127.0.0.1:{managed.http.port}"
            page.on("console", lambda one: problems.append(one.text) if one.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda one: problems.append(f"a dialog opened: {one.message}"))
            page.on("request", lambda one: None if one.url.startswith(home) else problems.append(one.url))
            page.goto(home + path)
            page.locator("#live", has_text=re.compile("live|实时更新")).wait_for()
            return page

        yield run
    assert problems == []


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

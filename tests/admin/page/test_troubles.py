"""Each of the twelve commonest troubles is named in the first screen, at 1280 and 390 px, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.admin.conftest import Managed
from tests.admin.page.conftest import WITHIN_MS, Open, ends_at, is_narrow_enough, picture
from tests.admin.page.troubles import TOPICS, TROUBLES, Scene, Trouble, one_of_two_name_servers, topic_differs

SCREENS = ((1280, 800), (390, 844))


@pytest.fixture
def scene(start_managed: Callable[..., Managed], tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(start_managed, tmp_path, stack)


def times_that_overlap(page: Page) -> list[str]:
    """Times that are wider than their column, and so lie over the text beside them."""
    script = "times => times.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
    return list(page.locator(".changes time").evaluate_all(script))


def test_there_are_twelve() -> None:
    assert len({one.name for one in TROUBLES}) == 12


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda one: one.plant.__name__)
def test_a_trouble_is_named_in_the_first_screen(scene: Scene, open_page: Open, trouble: Trouble) -> None:
    managed = trouble.plant(scene)
    for language, says in (("en", trouble.english), ("zh", trouble.chinese)):
        page = open_page(managed, path=f"/?lang={language}")
        place = f"#reasons li[data-name={trouble.name}]"
        page.locator(place, has_text=says).wait_for()
        page.locator("#brokers tr").first.wait_for()
        if trouble.name.startswith("disagree"):
            page.locator("#differ li").first.wait_for()
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            assert ends_at(page, place) <= height
            assert is_narrow_enough(page, width)
            assert times_that_overlap(page) == []
            picture(page, f"{trouble.name}-{width}-{language}")


def test_one_missing_broker_is_one_cause_with_a_number_that_opens(scene: Scene, open_page: Open) -> None:
    managed = one_of_two_name_servers(scene)
    page = open_page(managed, 1280, height=800)
    says = re.compile(r"^Name servers disagree about broker broker-b 4\d topics differ only because of it$")
    page.locator("#reasons li", has_text=says).wait_for()
    # The list may still be that of a moment at which the other one had no broker yet.
    expect(page.locator("#differ > li")).to_have_count(1, timeout=WITHIN_MS)
    page.locator("#differ summary").wait_for()
    picture(page, "one-cause")
    page.locator("#differ summary").click()
    page.locator("#differ .names li", has_text=TOPICS[0]).wait_for()
    assert "digest" not in page.locator("#fleet").inner_text()
    assert ends_at(page, "#fleet") < ends_at(page, "#columns")  # what is well stands below


def test_a_topic_that_differs_shows_what_differs(scene: Scene, open_page: Open) -> None:
    managed = topic_differs(scene)
    page = open_page(managed)
    page.locator("#differ li", has_text=f"Topic {TOPICS[0]}: the permission differs").first.wait_for()
    text = page.locator("#differ").inner_text()
    assert "this name server: on broker-b: read and write" in text
    assert "on broker-b: read only" in text
    page.goto(f"{page.url}?lang=zh")
    page.locator("#differ li", has_text=f"主题 {TOPICS[0]}：权限不同").first.wait_for()
    assert "本名字服务器：broker-b 上可读写" in page.locator("#differ").inner_text()


@pytest.mark.parametrize(("locale", "language"), [("zh-CN", "zh-CN"), ("zh-TW", "zh-CN"), ("de-DE", "en")])
def test_the_page_speaks_the_language_of_the_browser(
    managed: Managed, open_page: Open, locale: str, language: str
) -> None:
    page = open_page(managed, locale=locale)
    assert page.evaluate("document.documentElement.lang") == language
    page.locator("#languages a", has_text="English" if language == "zh-CN" else "中文").click()
    page.locator(f"html:not([lang='{language}'])").wait_for()


def test_a_chinese_page_has_no_english_words(scene: Scene, open_page: Open) -> None:
    """Nothing but names of the tables, and what Chinese documents of RocketMQ call so too."""
    managed = one_of_two_name_servers(scene)
    page = open_page(managed, 390, "dark", "/?lang=zh", height=844)
    page.locator("#reasons li[data-name=disagreeBroker]").wait_for()
    page.locator("#differ li").first.wait_for()
    page.locator("#changes time").first.wait_for()
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in violations] == []
    text = re.sub(r"broker-[ab]|order-\w+|C1", "", page.locator("body").inner_text())
    words = set(re.findall(r"[A-Za-z][A-Za-z_-]+", text))
    assert words - {"Broker", "API", "readyz", "rocketns", "English", "Asia", "Shanghai"} == set()

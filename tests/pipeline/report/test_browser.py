"""The page in a real browser: its script sorts, filters and pages, nothing overlaps, and names do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from rocketns.pipeline.report.page import render
from rocketns.pipeline.saying import speaking
from tests.pipeline.report.sample import healthy, hostile, huge, outside, sample
from tests.support.browser import ARGUMENTS, CHROMIUM

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

PHONE, WIDE = 390, 1280
SCREEN = 844
CARDS = "Array.from(document.querySelectorAll('.card')).filter(card => !card.hidden).length"


class Browser:
    """Opens pages. ``problems``: errors of scripts, what the page's policy refused, and dialogs."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder, self.problems = page, folder, list[str]()
        page.set_default_timeout(600_000)
        page.on("console", lambda one: self.problems.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda one: self.problems.append(one.message))

    def open(self, name: str, width: int = WIDE, anchor: str = "") -> Page:
        self.page.goto("about:blank")
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.goto(f"{(self.folder / name).as_uri()}.html{anchor}")
        return self.page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, data in (
        ("sample", sample()),
        ("hostile", hostile()),
        ("huge", huge(200)),
        ("healthy", healthy()),
        ("outside", outside()),
    ):
        (folder / f"{name}.html").write_text(render(data), "utf-8")
    return folder


@pytest.fixture
def browser(folder: Path) -> Iterator[Browser]:
    """No page has problems."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        one = Browser(chromium.new_page(), folder)
        yield one
        chromium.close()
    assert one.problems == []


def rows(page: Page, table: str) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        f"Array.from(document.querySelectorAll('#{table} tbody tr'))"
        ".map(row => Array.from(row.cells).map(cell => cell.textContent))"
    )
    return found


def enter(page: Page, control: str, value: str) -> None:
    """Give a control a value, as a user does."""
    page.evaluate(
        "([control, value]) => { const one = document.querySelector(control); one.value = value;"
        " one.dispatchEvent(new Event('input')); }",
        [control, value],
    )


def test_a_table_is_sorted_searched_and_shown_in_pages(browser: Browser) -> None:
    page = browser.open("sample")
    sort = "Array.from(document.querySelectorAll('#t-availability th button')).find(one => one.textContent.startsWith("
    page.evaluate(f"{sort}'Availability')).click()")
    first = rows(page, "t-availability")[0][4]
    page.evaluate(f"{sort}'Availability')).click()")
    assert {first, rows(page, "t-availability")[0][4]} == {"100.00 %", "95.00 %"}
    page.evaluate("document.querySelector('#t-availability .pager button:last-child').click()")
    status = "document.querySelector('#t-availability [role=status]').textContent"
    assert page.evaluate(status) == "11 to 20 of 24"
    enter(page, "#t-availability input[type=search]", "broker-c")
    assert page.evaluate(status) == "1 to 3 of 3"
    assert {row[0] for row in rows(page, "t-availability")} == {"broker-c"}


def test_anchors_lead_to_rows_and_incidents_on_other_pages_or_nowhere(browser: Browser) -> None:
    page = browser.open("sample", anchor="#t-availability-23")
    assert page.evaluate("document.activeElement.id") == "t-availability-23"
    for anchor in ("%E0%A4%A", "constructor", "__proto__", "t-availability-99999"):
        page.evaluate(f"location.hash = '{anchor}'; new Promise(done => setTimeout(done, 0))")
    page = browser.open("huge")
    assert page.evaluate(CARDS) == 20
    last = page.evaluate("Array.from(document.querySelectorAll('.card')).pop().id")
    page.evaluate(f"location.hash = '{last}'; new Promise(done => setTimeout(done, 0))")
    card = f"document.getElementById('{last}')"
    assert page.evaluate(f"[{card}.hidden, {card}.open, document.activeElement.tagName]") == [False, True, "SUMMARY"]


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_nothing_is_too_wide_or_overlaps(browser: Browser, width: int) -> None:
    """The ends of a short incident do not lie on each other, and no label leaves its axis. The Chinese page fits."""
    for name in ("sample", "huge", "hostile"):
        page = browser.open(name, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate("document.querySelectorAll('.card').forEach(card => { card.hidden = false; card.open = true; })")
        assert page.evaluate("document.querySelectorAll('.edges').length") > 0
        wrong = page.evaluate("""Array.from(document.querySelectorAll('.edges')).filter(axis => {
          const whole = axis.getBoundingClientRect();
          const [a, b] = Array.from(axis.querySelectorAll('span:not(.mark)')).map(one => one.getBoundingClientRect());
          return b && a.right > b.left || a.left < whole.left - 1 || (b ?? a).right > whole.right + 1;
        }).map(axis => axis.textContent)""")
        assert wrong == []
    with speaking("zh"):
        (browser.folder / "chinese.html").write_text(render(sample()), "utf-8")
    page = browser.open("chinese", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('.pager').textContent").startswith("第")


def test_a_healthy_fleet_is_one_screen_and_no_section_is_open(browser: Browser) -> None:
    page = browser.open("healthy")
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREEN
    assert page.evaluate("document.querySelectorAll('details.section[open]').length") == 0


def test_a_title_is_as_wide_as_its_card_beside_a_long_time(browser: Browser) -> None:
    """What was seen from outside has two moments for each end."""
    page = browser.open("outside")
    widths = page.evaluate("""Array.from(document.querySelectorAll('.card > summary')).map(one =>
      one.querySelector('.title').getBoundingClientRect().width / one.getBoundingClientRect().width)""")
    assert min(widths) > 0.9
    assert "seen from outside" in page.evaluate("document.querySelector('.card .when').textContent")


def test_an_anchor_opens_the_section_that_has_it(browser: Browser) -> None:
    page = browser.open("sample", anchor="#brokers")
    assert page.evaluate("Array.from(document.querySelectorAll('details.section[open]')).map(one => one.id)") == [
        "brokers"
    ]


def test_hostile_names_do_nothing(browser: Browser) -> None:
    page = browser.open("hostile")
    page.evaluate("document.querySelectorAll('th button').forEach(button => button.click())")
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert page.evaluate("document.querySelectorAll('.table b, .table img, .card script').length") == 0

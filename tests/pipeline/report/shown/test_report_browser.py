"""The page in a real browser: sorting, filters, pages, anchors, keys, a phone, and names that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.page import render
from rocketns.pipeline.saying import speaking
from tests.pipeline.report.large_fleet import large_fleet
from tests.pipeline.report.report_sample import hostile
from tests.pipeline.report.shown.browser import Browser, browser
from tests.support.browser import CHROMIUM

PHONE = (390, 844)
SCREENS_MAX = 10  # of a phone, before the tables begin

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: the page is not tried in a browser")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet with 40 incidents, one with 1,000, and one with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "fleet.html").write_text(render(large_fleet(40)), "utf-8")
    (folder / "many.html").write_text(render(large_fleet(1_000)), "utf-8")
    (folder / "hostile.html").write_text(render(hostile()), "utf-8")
    return folder


@pytest.fixture
def fleet(chromium: Browser, folder: Path) -> Iterator[Browser]:
    """The page of the fleet, reopened for each test."""
    chromium.problems.clear()
    chromium.open(folder / "fleet.html")
    yield chromium
    assert chromium.problems == []


def rows(page: Browser, table: str) -> list[list[str]]:
    found: list[list[str]] = page.value(
        f"Array.from(document.querySelectorAll('#{table} tbody tr'))"
        ".map(row => Array.from(row.cells).map(cell => cell.textContent))"
    )
    return found


def enter(control: str, value: str) -> str:
    """JavaScript that gives a control a value, as a user does."""
    return f"(one => {{ one.value = '{value}'; one.dispatchEvent(new Event('input')); }})({control})"


def heading(page: Browser, table: str, label: str) -> None:
    page.value(
        f"Array.from(document.querySelectorAll('#{table} th button'))"
        f".find(button => button.textContent.startsWith('{label}')).click()"
    )


def test_a_heading_sorts_by_numbers_and_again_the_other_way(fleet: Browser) -> None:
    heading(fleet, "t-availability", "Availability")
    first = [row[4] for row in rows(fleet, "t-availability")]
    heading(fleet, "t-availability", "Availability")
    again = [row[4] for row in rows(fleet, "t-availability")]
    assert (first[0], again[0]) == ("99.99 %", "99.69 %")
    sorts = fleet.value(
        "Array.from(document.querySelectorAll('#t-availability th')).map(th => th.getAttribute('aria-sort'))"
    )
    assert sorts.count("ascending") == 1
    heading(fleet, "t-availability", "Broker")
    assert [row[0] for row in rows(fleet, "t-availability")[:6]] == ["b-000"] * 5 + ["b-001"]


def test_search_finds_a_topic_among_ten_thousand_while_one_types(fleet: Browser) -> None:
    place = "#t-topics-at-the-end-of-the"
    ms = fleet.value(f"""(() => {{
      const search = document.querySelector('{place} input');
      const start = performance.now();
      search.value = 'payments 09991';
      search.dispatchEvent(new Event('input'));
      return performance.now() - start;
    }})()""")
    assert [row[0] for row in rows(fleet, place[1:])] == []
    fleet.value(enter(f"document.querySelector('{place} input')", "09999"))
    assert [row[0] for row in rows(fleet, place[1:])] == ["prices.team-09.09999"]
    assert fleet.value(f"document.querySelector('{place} [role=status]').textContent") == "1 to 1 of 1"
    assert ms < 2_000


def test_choices_filter_a_table(fleet: Browser) -> None:
    fleet.value("""(() => {
      const select = document.querySelectorAll('#t-availability select')[0];
      select.value = Array.from(select.options).find(option => option.textContent === 'ns-3').value;
      select.dispatchEvent(new Event('input'));
    })()""")
    assert {row[3] for row in rows(fleet, "t-availability")} == {"ns-3"}
    assert fleet.value("document.querySelector('#t-availability [role=status]').textContent") == "1 to 10 of 300"


def test_pages_of_a_table_and_their_length(fleet: Browser) -> None:
    fleet.value("document.querySelector('#t-availability .pager button:last-child').click()")
    assert fleet.value("document.querySelector('#t-availability tbody tr').id") == "t-availability-11"
    fleet.value(enter("Array.from(document.querySelectorAll('#t-availability select')).pop()", "50"))
    assert len(rows(fleet, "t-availability")) == 50


def test_an_anchor_leads_to_a_row_on_another_page(chromium: Browser, folder: Path) -> None:
    chromium.open(folder / "fleet.html", anchor="#t-availability-777")
    assert chromium.value("document.activeElement.id") == "t-availability-777"
    top = chromium.value("document.activeElement.getBoundingClientRect().top")
    assert 0 < top < 800


def test_an_anchor_that_leads_nowhere_does_nothing(chromium: Browser, folder: Path) -> None:
    """Whether the page is opened with it or goes there."""
    chromium.problems.clear()
    chromium.open(folder / "fleet.html", anchor="#%E0%A4%A")
    for anchor in ("%", "constructor", "__proto__", "t-availability-99999", "t-toString-1"):
        chromium.value(f"location.hash = '{anchor}'")
        chromium.value("new Promise(done => setTimeout(done, 0))")
    assert chromium.value("document.querySelectorAll('.card').length") > 30
    assert chromium.problems == []


def test_a_row_leads_to_its_incident_on_another_page_of_cards(fleet: Browser) -> None:
    anchor = fleet.value("Array.from(document.querySelectorAll('.card')).pop().id")
    assert fleet.value(f"document.getElementById('{anchor}').hidden")
    fleet.value(f"location.hash = '{anchor}'")
    fleet.value("new Promise(done => setTimeout(done, 0))")
    assert fleet.value(
        f"(() => {{ const c = document.getElementById('{anchor}'); return [c.hidden, c.open]; }})()"
    ) == [False, True]
    assert fleet.value("document.activeElement.tagName") == "SUMMARY"


def test_cards_are_searched_and_filtered(fleet: Browser) -> None:
    shown = "Array.from(document.querySelectorAll('.card')).filter(card => !card.hidden).length"
    assert fleet.value(shown) == 20
    fleet.value("document.querySelector('[data-still]').click()")
    fleet.value("document.querySelector('input[data-still]').dispatchEvent(new Event('input'))")
    fleet.value(enter("document.querySelector('[data-search]')", "b-117 NS-4"))
    assert fleet.value(shown) == 1


def test_the_slash_key_goes_to_the_search(fleet: Browser) -> None:
    fleet.press("/")
    assert fleet.value("document.activeElement.matches('[data-search]')")


RANGE = "document.querySelector('.range').textContent"


def test_the_timeline_zooms_to_minutes_of_a_week_by_keys(fleet: Browser) -> None:
    assert fleet.value(RANGE) == "2026-08-01 00:00:00 to 2026-08-08 00:00:00 UTC, 7 d"
    fleet.value("document.querySelector('.detail').focus()")
    for _ in range(10):
        fleet.press("+")
    assert fleet.value(RANGE).endswith("UTC, 9 min 50 s")
    before = fleet.value(RANGE)
    fleet.press("ArrowRight")
    assert fleet.value(RANGE) > before
    fleet.press("Home")
    assert fleet.value(RANGE).endswith("UTC, 7 d")


def test_the_timeline_is_chosen_by_dragging_and_its_bars_lead_to_incidents(fleet: Browser) -> None:
    fleet.value("document.querySelector('.overview').scrollIntoView({block: 'center', behavior: 'instant'})")
    left, width, top = fleet.value(
        "(box => [box.left, box.width, box.top])(document.querySelector('.overview .bars').getBoundingClientRect())"
    )
    fleet.drag(left + width * 0.9, left + width - 1, top + 3)
    assert fleet.value(RANGE).startswith("2026-08-07 07:")
    names = fleet.value("Array.from(document.querySelectorAll('.detail .label')).map(label => label.textContent)")
    assert "b-117" in names
    href, title = fleet.value(
        "(() => { const a = document.querySelector('.detail a.severe'); return [a.getAttribute('href'), a.title]; })()"
    )
    assert title.startswith(
        "b-117 is missing at ns-4 since 23:08 (still): 2026-08-07 23:08:00 to 2026-08-08 00:00:00 UTC"
    )
    assert fleet.value(f"document.querySelector('{href}').tagName") == "DETAILS"


def test_a_thousand_incidents_are_shown_in_pages_and_found_at_once(chromium: Browser, folder: Path) -> None:
    chromium.open(folder / "many.html")
    assert chromium.value("document.querySelectorAll('.card').length") > 980
    drawn = chromium.value("Array.from(document.querySelectorAll('.card')).filter(card => !card.hidden).length")
    assert drawn == 20
    ms = chromium.value("""(() => {
      const start = performance.now(), search = document.querySelector('[data-search]');
      search.value = 'ns-4 b-117'; search.dispatchEvent(new Event('input'));
      document.body.getBoundingClientRect();
      return performance.now() - start;
    })()""")
    assert ms < 2_000
    assert chromium.problems == []


def test_a_phone_shows_the_tables_after_ten_screens_and_nothing_is_too_wide(chromium: Browser, folder: Path) -> None:
    chromium.open(folder / "fleet.html", *PHONE)
    top, width = chromium.value("[document.querySelector('#contents').offsetTop, document.documentElement.scrollWidth]")
    assert top <= SCREENS_MAX * PHONE[1]
    assert width == PHONE[0]


def test_hostile_names_do_nothing_in_a_browser(chromium: Browser, folder: Path) -> None:
    chromium.problems.clear()
    chromium.open(folder / "hostile.html")
    chromium.value("document.querySelectorAll('th button').forEach(button => button.click())")
    chromium.value(
        "for (const select of document.querySelectorAll('.controls select')) {"
        "select.selectedIndex = select.options.length - 1; select.dispatchEvent(new Event('input')); }"
    )
    assert chromium.problems == []
    assert chromium.value("document.querySelectorAll('script:not([type])').length") == 1
    assert chromium.value("document.querySelectorAll('.table b, .table img, .card script').length") == 0


def test_the_page_prints(fleet: Browser, tmp_path: Path) -> None:
    fleet.page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 50_000


def test_names_that_are_written_from_right_to_left_are_isolated_by_the_script_too(
    chromium: Browser, tmp_path: Path
) -> None:
    """Once a table was sorted, and in the timeline. A search finds such a name."""
    data, name = large_fleet(40), "הזמנות"
    given = data["broker_stats"]
    named = [{**row, "broker": f"{name}-{place}"} for place, row in enumerate(given.rows)]
    page = render(replace(data, tables={**data.tables, "broker_stats": Table.of(named)}))
    (tmp_path / "names.html").write_text(page, "utf-8")
    chromium.problems.clear()
    chromium.open(tmp_path / "names.html")
    table = next(one for one in tables_with(chromium, name) if one)
    heading(chromium, table, "Broker")
    cells = f"Array.from(document.querySelectorAll('#{table} tbody td'))"
    first = chromium.value(f"{cells}.find(cell => cell.textContent.includes('{name}')).innerHTML")
    assert first == f"<bdi>{name}</bdi>-0"
    chromium.value(enter(f"document.querySelector('#{table} input[type=search]')", f"{name}-11"))
    assert all(any(cell.startswith(f"{name}-11") for cell in row) for row in rows(chromium, table))
    assert rows(chromium, table)
    assert chromium.problems == []


def tables_with(page: Browser, text: str) -> list[str]:
    found: list[str] = page.value(
        f"Array.from(document.querySelectorAll('[data-table]')).filter(one => one.querySelector('tbody').textContent"
        f".includes('{text}')).map(one => one.id)"
    )
    return found


@pytest.mark.parametrize("width", [PHONE[0], 1280])
def test_the_chinese_page_fits_and_its_script_speaks_chinese(chromium: Browser, folder: Path, width: int) -> None:
    with speaking("zh"):
        (folder / "chinese.html").write_text(render(large_fleet(40)), "utf-8")
    chromium.problems.clear()
    chromium.open(folder / "chinese.html", width)
    assert chromium.problems == []
    assert chromium.value("document.documentElement.scrollWidth") <= width
    shown = chromium.value("document.querySelector('[data-pager] [role=status]').textContent")
    assert shown == "第 1 至 20 项，共 40 项"
    assert chromium.value("document.querySelector('.timeline .controls').textContent").startswith("显示")


@pytest.mark.parametrize("width", [PHONE[0], 1280])
def test_the_ends_of_a_short_incident_do_not_lie_on_each_other(chromium: Browser, folder: Path, width: int) -> None:
    """It is a narrow mark in the middle of a minute. No label leaves its axis either."""
    chromium.open(folder / "hostile.html", width)
    chromium.value("document.querySelectorAll('.card').forEach(card => { card.hidden = false; card.open = true; })")
    assert chromium.value("document.querySelectorAll('.edges .both').length") > 0
    assert (
        chromium.value("""Array.from(document.querySelectorAll('.edges')).filter(axis => {
      const whole = axis.getBoundingClientRect();
      const [a, b] = Array.from(axis.querySelectorAll('span:not(.mark)')).map(label => label.getBoundingClientRect());
      return b && a.right > b.left || a.left < whole.left - 1 || (b ?? a).right > whole.right + 1;
    }).map(axis => axis.textContent)""")
        == []
    )

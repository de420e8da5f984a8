"""The report as a page: its structure, escaped names, its size, what its sections count and leave out, and that it
loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from rocketns.pipeline.contract.catalogue import SECTIONS
from rocketns.pipeline.contract.frames import Table
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS, AuditVerdict
from rocketns.pipeline.report.beside import markdown
from rocketns.pipeline.report.grid import ROWS_MAX, ROWS_OPEN
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import ReportSection, render, sections
from rocketns.pipeline.report.summary import headline, verdict
from tests.pipeline.report.incident_tables import END, SERVERS, S, boot, differ, up
from tests.pipeline.report.sample import clean, going_on, hostile, huge, incomplete, nothing, sample

PAGES = (sample, going_on, clean, nothing, incomplete, hostile)
VOID = {"meta", "br", "link", "img", "input", "hr", "use", "path"}
MB = 1_000_000


class Page(HTMLParser):
    """Tags with their attributes and texts, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {make.__name__: render(make()) for make in PAGES}


@pytest.mark.parametrize("name", [make.__name__ for make in PAGES])
def test_every_page_is_well_formed_and_its_ids_are_unique(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert (page.wrong, page.open) == ([], [])
    ids = Counter(attrs["id"] for _, attrs in page.tags if "id" in attrs)
    assert [identity for identity, count in ids.items() if count > 1] == []
    targets = {str(attrs["href"])[1:] for _, attrs in page.tags if "href" in attrs}
    assert targets - ids.keys() <= rows_of_data(page)


def rows_of_data(page: Page) -> set[str]:
    """Anchors of rows that the page's script shows."""
    tables = [attrs for _, attrs in page.tags if "data-table" in attrs]
    return {f"{one['id']}-{row}" for one in tables for row in range(1, int(str(one["data-count"])) + 1)}


@pytest.mark.parametrize("name", [make.__name__ for make in PAGES])
def test_no_page_asks_the_network_and_only_its_own_script_may_run(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert not {"link", "img", "iframe", "object", "embed", "base", "form", "image"} & {t for t, _ in page.tags}
    for tag, attrs in page.tags:
        assert not {"src", "srcset", "action", "background", "xlink:href"} & attrs.keys(), tag
        assert not [key for key in attrs if key.startswith("on")], tag
        assert str(attrs.get("href", "#")).startswith("#"), tag
        assert "http" not in str(attrs.get("style", "")), tag
    style = pages[name].split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    (script,) = re.findall(r"<script>(.*?)</script>", pages[name], re.DOTALL)
    assert not re.search(r"fetch|XMLHttp|import\(|innerHTML|eval|https?:", script)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sample", "No open incident. Worst of the past: broker-b missing at n2 for 39 min, from 09:00 on."),
        ("going_on", "broker-b missing at n2 since 23:21 (still)."),
        ("clean", "Nothing is wrong: the name servers agreed, and no broker was lost."),
        ("nothing", "Nothing was found, but records are missing: something may be wrong."),
    ],
)
def test_the_page_begins_with_what_is_wrong(pages: dict[str, str], name: str, said: str) -> None:
    body = pages[name].split("<body>")[1]
    assert re.sub(r"<[^>]*>", "", re.findall(r"<h[1-6][^>]*>(.*?)</h", body)[0]) == said
    assert body.count("<h1") == 1


def test_what_is_not_listed_in_incomplete_input_is_not_called_absent(pages: dict[str, str]) -> None:
    shown = Page(pages["incomplete"]).text
    for fact in ("412 records of n2", "1 line of n3 does not parse", "broker-b 0-3"):
        assert fact in shown
    every = ", ".join(SECTIONS.values())
    assert f"Nothing to list in what was read: {every}." in Page(pages["nothing"]).text
    assert "in what was read" not in pages["clean"]


def test_hostile_names_are_text_and_nothing_else(pages: dict[str, str]) -> None:
    page = Page(pages["hostile"])
    assert "<script>alert" not in pages["hostile"]
    assert "{{7*7}}" in page.text
    assert "$\\frac{1}{0}$" in page.text
    assert "\\u202e\\x00\\n" in page.text
    assert not set("\u202e\x00") & set(pages["hostile"])


@pytest.mark.slow
def test_a_page_of_a_large_fleet_stays_small_and_names_what_is_cut() -> None:
    data = huge(3_000)
    page = render(data)
    assert len(page.encode()) < 4 * MB
    assert f"and {3_000 - ROWS_MAX:,} more; the whole table is in <code>tables/key_windows.parquet</code>" in page
    assert page.count('<td role="cell" data-label="Opened by"') == ROWS_OPEN
    windows = json.loads(
        page.split('id="t-windows"')[1].split('<script type="application/json">')[1].split("</script>")[0]
    )
    assert {len(column["rows"]) for column in windows["columns"]} == {ROWS_MAX}


def test_data_in_the_page_cannot_end_its_script(pages: dict[str, str]) -> None:
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', pages["hostile"], re.DOTALL)
    assert len(blocks) > 6
    for block in blocks:
        assert not set("<>&'\u2028") & set(block)
        json.loads(block)
    told = json.loads(next(block for block in blocks if "t-windows" in block))
    assert any("</script>" in str(column["values"]) for column in told["columns"])


CERTAIN = differ("broker-a", 1_000, 2_000)
LOST = differ("broker-z", 3_000, 9_000) | {"doubt": LOST_RECORDS}


def data_of(*rows: dict[str, Any], verdict: AuditVerdict = AuditVerdict.INCOMPLETE) -> ReportInput:
    tables = {
        "divergences": Table.of(rows),
        "ns_uptime": Table.of([boot(ns, 0, END) for ns in SERVERS]),
        "broker_intervals": Table.of([up(ns, "broker-a", 0, END) for ns in SERVERS]),
    }
    return ReportInput(0, END * S, verdict, tables=tables)


def divergence(data: ReportInput) -> ReportSection:
    return next(section for section in sections(data) if section.name == "divergence")


CLOCK = differ("broker-z", 3_000, 3_029) | {"doubt": CLOCKS}
NOTE = "Nothing shows how far the clock of n2 is off."


@pytest.mark.parametrize(
    ("row", "title"), [(LOST, "May be lost records: not counted"), (CLOCK, "May be clocks: not counted")]
)
def test_doubtful_divergence_has_a_table_of_its_own_and_is_not_counted(row: dict[str, Any], title: str) -> None:
    certain, doubtful = divergence(data_of(CERTAIN, row)).grids
    assert (certain.caption, [one["broker"] for one in certain.rows]) == ("Divergence of brokers", ["broker-a"])
    assert (doubtful.caption, [one["broker"] for one in doubtful.rows]) == (title, ["broker-z"])
    assert [one.brokers for one in data_of(CERTAIN, row).incidents] == [("broker-a",)]
    without = divergence(data_of(CERTAIN))
    assert without.answer == "Divergence of brokers: 1"
    assert headline(data_of(LOST)).startswith("Nothing was found, but records are missing")


def test_a_page_with_only_doubtful_differences_does_not_say_that_all_is_well() -> None:
    data = replace(data_of(CLOCK, verdict=AuditVerdict.NOTHING), figures={"clock_windows": 3}, notes={CLOCKS: [NOTE]})
    assert headline(data).startswith("Nothing was found for certain")
    assert verdict(data) == "All input was read, and there is no finding"
    for page in (render(data), markdown(data)):
        assert NOTE in page

"""The report as a page: its structure, escaped names, its size, and that it loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.grid import ROWS_MAX, ROWS_OPEN
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import BUILDERS, render
from tests.pipeline.report.report_sample import clean, going_on, hostile, huge, incomplete, nothing, sample, with_tables

PAGES = (sample, clean, nothing, incomplete, hostile)
SECTIONS = ("divergence", "timeline", "impact", "imbalance", "availability", "brokers", "departures",
            "topics", "lookups", "clients", "blast", "storms", "ordered", "growth", "access", "quality")  # fmt: skip
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


@pytest.mark.parametrize("make", PAGES)
def test_the_same_input_gives_the_same_bytes(pages: dict[str, str], make: type) -> None:
    assert render(make()) == pages[make.__name__]


@pytest.mark.parametrize(
    ("make", "headline"),
    [
        (sample, "No open incident. Worst of the past: broker-b was missing at n2 for 39 min, from 09:00 on."),
        (going_on, "broker-b is missing at n2 since 23:21 (still)."),
        (clean, "Nothing is wrong: the name servers agreed, and no broker was lost."),
        (nothing, "Nothing was found, but records are missing: something may be wrong."),
    ],
)
def test_the_page_begins_with_what_is_wrong(make: Callable[[], ReportInput], headline: str) -> None:
    body = render(make()).split("<body>")[1]
    assert re.sub(r"<[^>]*>", "", re.findall(r"<h[1-6][^>]*>(.*?)</h", body)[0]) == headline
    assert body.count("<h1") == 1


def test_the_beginning_says_whom_it_hurts_and_what_to_do_first() -> None:
    top = Page(render(going_on()).split('<section id="summary"')[1].split("</section>")[0]).text
    for sentence in (
        "Severe, since 2026-08-03 23:21:00 UTC, ",
        "1,248 user topics: consumers that ask n2 leave 4,992 queues unread, and producers that ask it send nothing to "
        "broker-b.",
        "First: Look at the network between broker-b (10.0.0.2:10911) and n2: heartbeats do not arrive there",
        "rocketns audit explain --journal journal --at 2026-08-03T23:22:00.000Z -- audit_topic",
        "6 incidents (1 severe, 2 major, 3 minor): 1 goes on at ",
        "UTC, the last moment that was looked at; 5 are over.",
    ):
        assert sentence in top


def test_an_incomplete_run_says_why_and_shows_its_findings_too(pages: dict[str, str]) -> None:
    text = Page(pages["incomplete"]).text
    assert "412 records of n2 are missing in a hole of its sequence." in text
    assert "1 line of n3 does not parse." in text
    assert "broker-b 0-3" in text


def test_no_answer_from_incomplete_input_stands_as_the_whole_truth(pages: dict[str, str]) -> None:
    answers = re.findall(r'<p class="answer">([^<]*)</p>', pages["nothing"])
    assert len(answers) == len(SECTIONS)
    careful = [answer for answer in answers if answer.startswith("In what was read: ")]
    assert len(careful) == len(SECTIONS) - 1
    assert "In what was read" not in pages["clean"]


def test_every_section_is_there_and_says_what_its_figures_mean(pages: dict[str, str]) -> None:
    assert tuple(BUILDERS) == SECTIONS
    for name in ("sample", "nothing"):
        page = pages[name]
        for section in SECTIONS:
            inner = page.split(f'<section id="{section}"')[1].split("</section>")[0]
            assert inner.count("What it means.") == inner.count('<div class="block">') > 0, section
            assert "Limits." in inner, section


def test_the_limits_of_the_model_stand_with_the_impact(pages: dict[str, str]) -> None:
    inner = Page(pages["sample"].split('<section id="impact"')[1].split("</section>")[0]).text
    for limit in ("same member list", "Orderly consumption locks", "POP and broadcasting", "Static topics"):
        assert limit in inner


def test_empty_results_say_so_instead_of_an_empty_table(pages: dict[str, str]) -> None:
    page = Page(pages["nothing"])
    assert page.all("table") == []
    for text in (
        "No incident in what was read.",
        "In what was read: no broker left.",
        "Nothing was read.",
        "In what was read: no name server wrote anything in this time.",
    ):
        assert text in page.text


def test_tables_have_headers_with_a_scope_and_a_caption(pages: dict[str, str]) -> None:
    page = Page(pages["sample"])
    assert len(page.all("table")) == len(page.all("caption")) > 10
    assert all(attrs.get("scope") == "col" for attrs in page.all("th"))
    # a phone shows a row as a card, whose labels come from the cells
    assert all(attrs.get("data-label") for attrs in page.all("td"))


def test_each_figure_has_a_label_in_words_and_two_widths(pages: dict[str, str]) -> None:
    page = Page(pages["sample"])
    charts = page.all("svg")
    assert len(charts) == 2 * len(page.all("figure")) == 8
    assert all(attrs["role"] == "img" and len(str(attrs["aria-label"])) > 20 for attrs in charts)


def test_figures_take_all_their_colours_from_the_page(pages: dict[str, str]) -> None:
    """A fixed colour would be illegible in either light or dark."""
    charts = re.findall(r"<svg.*?</svg>", pages["sample"], re.DOTALL)
    for chart in charts:
        assert re.findall(r'style="[^"]*#[0-9a-f]{3,6}', chart) == []
        assert re.findall(r'(?:fill|stroke)="#', chart) == []
        assert "var(--ink)" in chart
    used = set(re.findall(r"var\(--(\w[\w-]*)\)", pages["sample"]))
    style = pages["sample"].split("<style>")[1]
    assert all(f"--{name}:" in style for name in used)
    both = [scheme.count("--failed:") for scheme in style.split("prefers-color-scheme: dark")[:2]]
    assert both[0] == 1
    assert both[1] >= 1


def test_hostile_names_are_text_and_nothing_else(pages: dict[str, str]) -> None:
    page = Page(pages["hostile"])
    assert "<script>alert" not in pages["hostile"]
    assert "{{7*7}}" in page.text
    assert "$\\frac{1}{0}$" in page.text
    assert "\\u202e\\x00\\n" in page.text
    assert not set("\u202e\x00") & set(pages["hostile"])
    # a name that holds a placeholder of the figures' colours keeps it
    assert "#0b1d01" in page.text


def test_the_figures_carry_hostile_names_as_text(pages: dict[str, str]) -> None:
    charts = Page("".join(re.findall(r"<svg.*?</svg>", pages["hostile"], re.DOTALL)))
    assert "<script>alert" in charts.text
    assert not {"script", "style"} & {tag for tag, _ in charts.tags}


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


def test_a_table_that_was_cut_before_counts_as_a_whole() -> None:
    cut = Table.of(sample()["key_windows"].rows[:5], total=123_456, path="tables/key_windows.csv")
    page = render(with_tables(sample(), key_windows=cut))
    assert "with 123,456 windows" in page
    assert "and 123,451 more; the whole table is in <code>tables/key_windows.csv</code>" in page


def test_times_are_utc_and_windows_open_at_the_end_say_so() -> None:
    last = {**sample()["key_windows"].rows[0], "t2": sample().t1}
    page = Page(render(with_tables(sample(), key_windows=Table.of([last]))))
    assert "2026-08-03 09:00:00" in page.text
    assert "15 h, open at the end" in page.text


def test_rows_with_missing_columns_show_a_dash() -> None:
    bare = {"topic": "t", "broker": "b", "t1": sample().t0, "t2": sample().t1}
    data = ReportInput(
        sample().t0, sample().t1, Verdict.FINDINGS, tables={"key_windows": Table.of([bare, {**bare, "gap": 7}])}
    )
    cells = re.findall(r'data-label="Silent before"[^>]*>([^<]*)<', render(data))
    assert cells == ["-", "7 ms"]


def test_a_name_with_a_lone_surrogate_can_be_written() -> None:
    row = {**sample()["departures"].rows[0], "broker": "b\ud800"}
    assert b"b\\ud800" in render(with_tables(sample(), departures=Table.of([row]))).encode()


def test_rows_and_incidents_are_linked_both_ways(pages: dict[str, str]) -> None:
    card = pages["sample"].split('<details class="card major"')[1].split("</details>")[0]
    anchor = card.split('id="')[1].split('"')[0]
    assert '<a href="#t-divergence-of-brokers-1">row 1</a>' in card
    assert '<a href="#t-departures-2">row 2</a>' in card
    row = pages["sample"].split('id="t-departures-2"')[1].split("</tr>")[0]
    assert f'<a href="#{anchor}">show</a>' in row


def test_nothing_links_to_an_incident_that_the_page_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketns.pipeline.report.cards.CARDS_MAX", 2)
    page = render(sample())
    assert len(re.findall(r'<details class="card', page)) == 2
    assert "4 more are not in this page" in page
    anchors = set(re.findall(r"\bi[0-9a-f]{10}\b", page))
    assert anchors == set(re.findall(r'<details class="card [a-z]+" id="([^"]+)"', page))


def test_a_name_of_a_megabyte_is_in_the_page_only_in_part() -> None:
    data = sample()
    intervals = [
        row | {"broker": "b" * MB} if row["broker"] == "broker-b" else row for row in data["broker_intervals"].rows
    ]
    incidents = [row | {"broker": "b" * MB} if row["broker"] == "broker-b" else row for row in data["incidents"].rows]
    page = render(with_tables(data, broker_intervals=Table.of(intervals), incidents=Table.of(incidents)))
    assert len(page) < MB


def test_data_in_the_page_cannot_end_its_script(pages: dict[str, str]) -> None:
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', pages["hostile"], re.DOTALL)
    assert len(blocks) > 8
    for block in blocks:
        assert not set("<>&'\u2028") & set(block)
        json.loads(block)
    told = json.loads(next(block for block in blocks if "t-windows" in block))
    assert any("</script>" in str(column["values"]) for column in told["columns"])


def test_tables_sort_by_numbers_and_not_by_their_texts(pages: dict[str, str]) -> None:
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', pages["sample"], re.DOTALL)
    rows = next(json.loads(block) for block in blocks if '"t-divergence-of-brokers"' in block)
    columns = {column["label"]: column for column in rows["columns"]}
    assert columns["Lasted"]["values"] == [["39 min", 2_340_000_000], ["6.5 s", 6_500_000], ["28 s", 28_000_000]]
    assert columns["Lasted"]["rows"][:3] == [0, 1, 2]
    assert columns["Hidden queues"]["values"][0] == ["4,992", 4_992]
    assert columns["From"]["values"][0] == "2026-08-03 09:00:00"


def test_the_sections_about_the_fleet_answer_in_a_sentence(pages: dict[str, str]) -> None:
    text = Page(pages["sample"]).text
    for answer in (
        "1 language and version of clients.",
        "1 broker group used up the error budget.",
        "The worst loss is that of zone east: it leaves 3 user topics without a write queue.",
        "1 storm. The largest: 8 registrations at n2.",
        "The write queues of 1 user topic changed, which moves keys.",
        "The registration of a broker reaches 16 MiB about 2026-09-13 15:00:00.",
    ):
        assert answer in text

"""The page: sections through the template, as one text that needs no network.

A section lists tables of the catalogue, and says how many rows they have.
"""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from rocketns.languages import N_, language
from rocketns.pipeline.contract.catalogue import BY_NAME, CLOCKS_DIFFER, JOBS, LOST, SECTIONS
from rocketns.pipeline.contract.frames import Table
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS, AuditVerdict
from rocketns.pipeline.report import text
from rocketns.pipeline.report.cards import cards, timeline
from rocketns.pipeline.report.grid import ROWS_OPEN, VIEWS, Grid, Links, columns_of, grid, packed
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.summary import counts, headline, period, state, tiles, verdict
from rocketns.pipeline.report.text import in_html, isolated, row
from rocketns.pipeline.report.words.names import marked, spoken
from rocketns.pipeline.saying import _

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = ("base", "cards", "tables", "start")
LANGS = {"en": "en", "zh": "zh-CN"}
ROWS_NAMED = 2  # of each table, on a card
OTHERS_SHOWN = 4
CARDS_SHOWN = 20  # where the page's script does not run


def render(data: ReportInput) -> str:
    """The whole page; the same input gives the same text."""
    shown, listed = cards(data), sections(data)
    return _template().render(
        headline=headline(data),
        period=period(data),
        state=state(data),
        counts=counts(data),
        tiles=[*tiles(data), (verdict(data), _("result of the run"))],
        incomplete=data.incomplete,
        clocks=data.notes.get(CLOCKS, ()),
        cards=shown,
        others=[card for card in shown[1:] if card.going_on],
        others_shown=OTHERS_SHOWN,
        card_rows=_rows_of_cards(grid for section in listed for grid in section.grids),
        timeline=timeline(data),
        packed=packed,
        json=htmlsafe_json_dumps,
        cards_shown=CARDS_SHOWN,
        cards_missing=len(data.incidents) - len(shown),
        card_kinds=sorted({(card.code, card.kind) for card in shown}),
        sections=listed,
        rows_open=ROWS_OPEN,
        empty=row(empty_sections(listed)),
        whole=data.verdict is not AuditVerdict.INCOMPLETE,
        lang=LANGS[language()],
        gap=_("%(before)s %(after)s") % {"before": "", "after": ""},
        texts=spoken(),
        shared_style=Markup(files("rocketns").joinpath("style.css").read_text("utf-8")),
        script=Markup(script()),
        script_hash=Markup(b64encode(sha256(script().encode()).digest()).decode()),
    )


@cache
def script() -> str:
    """The page's own script. It reads the page and no more; the page's policy allows this one text only."""
    return "\n".join((TEMPLATES / f"{part}.js").read_text("utf-8") for part in SCRIPT)


def _rows_of_cards(grids: Iterable[Grid]) -> Mapping[str, Sequence[tuple[str, str, Sequence[int], int]]]:
    """By the anchor of an incident: caption and name of a table with the first rows of it, and how many there are."""
    found: defaultdict[str, list[tuple[str, str, Sequence[int], int]]] = defaultdict(list)
    for one in grids:
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, anchor in enumerate(one.refs, 1):
            numbers[anchor].append(number)
        for anchor, rows in numbers.items():
            found[anchor].append((one.caption, one.name, rows[:ROWS_NAMED], len(rows)))
    return found


@cache
def _template() -> Template:
    environment = Environment(
        extensions=["jinja2.ext.i18n"],
        loader=PackageLoader("rocketns.pipeline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.install_gettext_callables(_, _.plural, newstyle=True)  # type: ignore[attr-defined]
    environment.filters["in_html"] = in_html  # of values within a message, which _finalize does not see
    environment.filters["marked"] = marked
    environment.filters["bare"] = _bare
    return environment.get_template("page.html")


def _finalize(value: Any) -> Any:
    """Show the invisible characters of every text that comes from data, and isolate what is written from right to
    left."""
    return in_html(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _bare(value: str) -> Markup:
    """The same for attributes, which have no markup."""
    return escape(isolated(value))


# Of a table whose rows are topics the page has more.
TOPICS_MAX = 10_000
# By doubt: the figure that counts the divergences, the title of their table, and what it means.
DOUBTS = {
    None: ("divergences", VIEWS["divergences"].title, BY_NAME["divergences"].meaning),
    LOST_RECORDS: ("lost_divergences", N_("May be lost records: not counted"), LOST),
    CLOCKS: ("clock_divergences", N_("May be clocks: not counted"), CLOCKS_DIFFER),
}


@dataclass(frozen=True)
class ReportSection:
    """One chapter of the page. ``name``: one of SECTIONS, its anchor, its key in the notes."""

    name: str
    grids: Sequence[Grid]
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        return _(SECTIONS[self.name])

    @property
    def answer(self) -> str:
        """How many rows its tables have: ``Departures: 4``."""
        return _("; ").join(_("%(table)s: %(n)s") % {"table": one.caption, "n": f"{one.total:,}"} for one in self.grids)


def sections(data: ReportInput) -> list[ReportSection]:
    """The sections with something to list or to note, in their order."""
    links = Links(data)
    every = (ReportSection(name, list(_grids(name, data, links)), list(_notes(name, data))) for name in SECTIONS)
    return [section for section in every if section.grids or section.notes]


def empty_sections(shown: Sequence[ReportSection]) -> list[str]:
    """The titles of the others."""
    names = {section.name for section in shown}
    return [_(title) for name, title in SECTIONS.items() if name not in names]


def _grids(section: str, data: ReportInput, links: Links) -> Iterator[Grid]:
    for job in JOBS:
        if job.section == section and job.name in VIEWS:
            parts = (
                _divergences(data)
                if job.name == "divergences"
                else [(VIEWS[job.name].title, job.meaning, data[job.name])]
            )
            for title, meaning, table in parts:
                most = {"rows_max": TOPICS_MAX} if job.name == "topics" else {}
                if table:
                    yield grid(title, meaning, columns_of(job.name), table, links, **most)


def _divergences(data: ReportInput) -> Iterator[tuple[str, str, Table]]:
    """A table of those that count, and one for each doubt."""
    table = data["divergences"]
    for doubt, (figure, title, meaning) in DOUBTS.items():
        rows = [row for row in table.rows if row.get("doubt") == doubt]
        known = len(rows) if doubt else table.total - len(table.rows) + len(rows)
        total = int(data.figures.get(figure, known))
        yield title, meaning, Table(rows, max(total, len(rows)), table.path)


def _notes(section: str, data: ReportInput) -> Iterator[str]:
    yield from data.notes.get(section, ())
    if section == "topics" and (alone := int(data.figures.get("sole_topics", 0))):
        said = _.plural(
            "%(n)s user topic is served by one broker only, and stands still when that broker is taken out.",
            "%(n)s user topics are served by one broker only, and stand still when that broker is taken out.",
            alone,
        )
        yield said % {"n": text.number(alone)}

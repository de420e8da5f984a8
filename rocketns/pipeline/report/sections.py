"""The sections of the page: what each lists of the tables of the catalogue, and how many rows they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketns.languages import N_
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS, SECTIONS
from rocketns.pipeline.contract.meanings import CLOCKS_DIFFER, LOST
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS
from rocketns.pipeline.report import text
from rocketns.pipeline.report.columns import VIEWS, columns_of
from rocketns.pipeline.report.grid import Grid, Links, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.saying import _

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

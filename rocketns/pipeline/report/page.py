"""The page: sections through the template, as one text that needs no network."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from rocketns.languages import language
from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.job import SECTIONS
from rocketns.pipeline.report.blocks import Block, Section
from rocketns.pipeline.report.cards import cards
from rocketns.pipeline.report.grid import Grid, packed
from rocketns.pipeline.report.links import Links
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.scripts import in_html, isolated
from rocketns.pipeline.report.sections.access import access_section
from rocketns.pipeline.report.sections.brokers import brokers_section
from rocketns.pipeline.report.sections.departures import departures_section
from rocketns.pipeline.report.sections.divergence import divergence_section
from rocketns.pipeline.report.sections.imbalance import imbalance_section
from rocketns.pipeline.report.sections.impact import impact_section
from rocketns.pipeline.report.sections.lookups import lookups_section
from rocketns.pipeline.report.sections.planning import (
    availability_section,
    blast_section,
    clients_section,
    growth_section,
    ordered_section,
    storms_section,
)
from rocketns.pipeline.report.sections.quality import quality_section
from rocketns.pipeline.report.sections.timeline import timeline_section
from rocketns.pipeline.report.sections.topics import topics_section
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.words.marking import marked, spoken
from rocketns.pipeline.saying import _

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = ("base", "cards", "tables", "timeline", "start")
LANGS = {"en": "en", "zh": "zh-CN"}
CARDS_SHOWN = 20  # where the page's script does not run
BUILDERS: Mapping[str, Callable[[ReportInput], Section]] = {
    "divergence": divergence_section,
    "timeline": timeline_section,
    "impact": impact_section,
    "imbalance": imbalance_section,
    "availability": availability_section,
    "brokers": brokers_section,
    "departures": departures_section,
    "topics": topics_section,
    "lookups": lookups_section,
    "clients": clients_section,
    "blast": blast_section,
    "storms": storms_section,
    "ordered": ordered_section,
    "growth": growth_section,
    "access": access_section,
    "quality": quality_section,
}


def render(data: ReportInput) -> str:
    """The whole page; the same input gives the same text."""
    shown = cards(data)
    sections = _with_own_names([_noted(BUILDERS[name](data), data) for name in SECTIONS])
    grids = [grid for section in sections for block in section.blocks for grid in block.grids]
    links = Links(data, grids)
    return _template().render(
        summary=summary(data),
        cards=shown,
        card_rows=links.rows(grids),
        captions={grid.name: grid.caption for grid in grids},
        links=links,
        packed=packed,
        json=htmlsafe_json_dumps,
        cards_shown=CARDS_SHOWN,
        cards_missing=len(data.incidents) - len(shown),
        card_kinds=sorted({(card.code, card.kind) for card in shown}),
        sections=sections,
        options=data.options,
        lang=LANGS[language()],
        gap=_("%(before)s %(after)s") % {"before": "", "after": ""},
        texts=spoken(),
        script=Markup(script()),
        script_hash=Markup(b64encode(sha256(script().encode()).digest()).decode()),
    )


@cache
def script() -> str:
    """The page's own script. It reads the page and no more; the page's policy allows this one text only."""
    return "\n".join((TEMPLATES / f"{part}.js").read_text("utf-8") for part in SCRIPT)


def _with_own_names(sections: Sequence[Section]) -> list[Section]:
    """The sections with a name of its own for each table."""
    seen: Counter[str] = Counter()

    def renamed(grid: Grid) -> Grid:
        seen[grid.name] += 1
        return grid if seen[grid.name] == 1 else replace(grid, name=f"{grid.name}-{seen[grid.name]}")

    def renamed_block(block: Block) -> Block:
        return replace(block, grids=[renamed(grid) for grid in block.grids])

    return [replace(section, blocks=[renamed_block(block) for block in section.blocks]) for section in sections]


def _noted(section: Section, data: ReportInput) -> Section:
    """The section with its notes. With incomplete input its answer begins with “In what was read”."""
    answer = section.answer
    if data.verdict is Verdict.INCOMPLETE and section.name != "quality":
        answer = _("In what was read: %(answer)s") % {"answer": f"{answer[:1].lower()}{answer[1:]}"}
    return replace(section, answer=answer, notes=data.notes.get(section.name, ()))


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
    environment.filters["translated"] = _  # of constants, which may have signs of per cent
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

"""The page: sections through the template, as one text that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.job import SECTIONS
from rocketns.pipeline.report.blocks import Section
from rocketns.pipeline.report.grid import ROWS_MAX
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.brokers import brokers_section
from rocketns.pipeline.report.sections.departures import departures_section
from rocketns.pipeline.report.sections.fleet import (
    availability_section,
    blast_section,
    clients_section,
    growth_section,
    ordered_section,
    storms_section,
)
from rocketns.pipeline.report.sections.imbalance import imbalance_section
from rocketns.pipeline.report.sections.impact import impact_section
from rocketns.pipeline.report.sections.incidents import incidents_section
from rocketns.pipeline.report.sections.lookups import lookups_section
from rocketns.pipeline.report.sections.quality import quality_section
from rocketns.pipeline.report.sections.timeline import timeline_section
from rocketns.pipeline.report.sections.topics import topics_section
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.text import visible

BUILDERS: Mapping[str, Callable[[ReportInput], Section]] = {
    "incidents": incidents_section,
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
    "quality": quality_section,
}


def render(data: ReportInput) -> str:
    """The whole page; the same input gives the same text."""
    sections = [_noted(BUILDERS[name](data), data) for name in SECTIONS]
    return _template().render(
        summary=summary(data, sections), sections=sections, options=data.options, rows_max=ROWS_MAX
    )


def write_report(data: ReportInput, path: Path) -> None:
    """Write the page to a file, atomically."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(render(data), "utf-8")
    part.replace(path)


def _noted(section: Section, data: ReportInput) -> Section:
    """The section with its notes. With incomplete input its answer begins with “In what was read”."""
    answer = section.answer
    if data.verdict is Verdict.INCOMPLETE and section.name != "quality":
        answer = f"In what was read: {answer[:1].lower()}{answer[1:]}"
    return replace(section, answer=answer, notes=data.notes.get(section.name, ()))


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("rocketns.pipeline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def _finalize(value: Any) -> Any:
    """Show the invisible characters of every text that comes from data."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

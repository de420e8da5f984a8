"""The page: sections through the template, as one text that needs no network."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rocketns.pipeline.report.blocks import Section
from rocketns.pipeline.report.grid import ROWS_MAX
from rocketns.pipeline.report.model import ReportInput, Verdict
from rocketns.pipeline.report.sections.brokers import brokers_section, departures_section, quality_section
from rocketns.pipeline.report.sections.routes import (
    imbalance_section,
    impact_section,
    incidents_section,
    timeline_section,
)
from rocketns.pipeline.report.sections.topics import lookups_section, topics_section
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.text import visible

BUILDERS = (
    incidents_section,
    timeline_section,
    impact_section,
    imbalance_section,
    brokers_section,
    departures_section,
    topics_section,
    lookups_section,
    quality_section,
)


def render(data: ReportInput) -> str:
    """The whole page; the same input gives the same text."""
    sections = [_noted(build(data), data) for build in BUILDERS]
    return _template().render(
        summary=summary(data, sections), sections=sections, options=data.options, rows_max=ROWS_MAX
    )


def write_report(data: ReportInput, path: Path) -> None:
    """The page as a file, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(render(data), "utf-8")
    part.replace(path)


def _noted(section: Section, data: ReportInput) -> Section:
    """The section with its notes; no answer from incomplete input stands as if it were the whole truth."""
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
    """Every text that is not the page's own, with its invisible characters shown."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

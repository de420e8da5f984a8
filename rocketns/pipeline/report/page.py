"""The page: sections through the template, as one text that needs no network."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from rocketns.languages import language
from rocketns.pipeline.report.cards import cards
from rocketns.pipeline.report.grid import packed
from rocketns.pipeline.report.links import Links
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections import Block, Section, sections
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.text import in_html, isolated
from rocketns.pipeline.report.words.names import marked, spoken
from rocketns.pipeline.saying import _

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = ("base", "cards", "tables", "timeline", "start")
LANGS = {"en": "en", "zh": "zh-CN"}
CARDS_SHOWN = 20  # where the page's script does not run


def render(data: ReportInput) -> str:
    """The whole page; the same input gives the same text."""
    shown = cards(data)
    shown_sections = _with_own_names(sections(data))
    grids = [block.grid for section in shown_sections for block in section.blocks if block.grid]
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
        sections=shown_sections,
        options=data.options,
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


def _with_own_names(given: Sequence[Section]) -> list[Section]:
    """The sections with a name of its own for each table."""
    seen: Counter[str] = Counter()

    def renamed(block: Block) -> Block:
        if block.grid is None:
            return block
        name = block.grid.name
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return replace(block, grid=replace(block.grid, name=own))

    return [replace(section, blocks=[renamed(block) for block in section.blocks]) for section in given]


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

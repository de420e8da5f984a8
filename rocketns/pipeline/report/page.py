"""The page: sections through the template, as one text that needs no network."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from rocketns.languages import language
from rocketns.pipeline.contract.terms import CLOCKS, AuditVerdict
from rocketns.pipeline.report.cards import cards
from rocketns.pipeline.report.grid import ROWS_OPEN, Grid, packed
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections import empty_sections, sections
from rocketns.pipeline.report.summary import counts, headline, period, state, tiles, verdict
from rocketns.pipeline.report.text import in_html, isolated, row
from rocketns.pipeline.report.timeline import timeline
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


def _rows_of_cards(grids: Iterable[Grid]) -> Mapping[str, Sequence[tuple[str, str, Sequence[int], int]]]:
    """By the anchor of an incident: caption and name of a table with the first rows of it, and how many there are."""
    found: defaultdict[str, list[tuple[str, str, Sequence[int], int]]] = defaultdict(list)
    for grid in grids:
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, anchor in enumerate(grid.refs, 1):
            numbers[anchor].append(number)
        for anchor, rows in numbers.items():
            found[anchor].append((grid.caption, grid.name, rows[:ROWS_NAMED], len(rows)))
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

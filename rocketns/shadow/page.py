"""The page of a shadow and the report: the same content, beginning with the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from rocketns import __version__
from rocketns.languages import language, texts
from rocketns.logs import escape as shown  # a peer's text without characters that move or hide others
from rocketns.shadow.pairs import UNWANTED, Pair, Sample
from rocketns.shadow.summary import (
    Comparison,
    ComparisonTable,
    differences_of,
    facts_of,
    moment,
    number,
    sections,
    verdict_on,
)
from rocketns.tools.decode.frames import frames
from rocketns.tools.decode.reading import Stream
from rocketns.tools.decode.showing import Names, lines
from rocketns.tools.output import TextTable

_ = texts("help")

TITLE = "rocketns shadow"
_STATIC = files(__package__).joinpath("static")
STYLE = files("rocketns").joinpath("style.css").read_text("utf-8") + _STATIC.joinpath("page.css").read_text("utf-8")
SCRIPT = _STATIC.joinpath("page.js").read_text("utf-8")


class Markup(str):
    """Made by `tag`, so it is not escaped again."""

    __slots__ = ()


def tag(name: str, *inner: str, **attributes: str) -> Markup:
    """An element. ``class_`` is the attribute class."""
    attributes_text = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{attributes_text}>{joined(*inner)}</{name}>")


def joined(*inner: str) -> Markup:
    """Several parts, of which texts are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in inner))


def report(comparison: Comparison) -> str:
    """One file that needs no network."""
    return _document(tag("style", Markup(STYLE)), tag("main", content(comparison, with_frames=True)))


def live_page(comparison: Comparison) -> str:
    """The page that asks for its content again."""
    main = tag("main", tag("div", content(comparison), id="content"), tag("p", "", id="said", role="status"))
    style = Markup('<link rel="stylesheet" href="/page.css">')
    return _document(style, joined(main, Markup('<script src="/page.js"></script>')))


def _document(style: Markup, body: Markup) -> str:
    meta = Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">')
    head = joined(meta, tag("title", TITLE), style)
    return f'<!DOCTYPE html>\n<html lang="{language()}"><head>{head}</head><body>{body}</body></html>\n'


def content(comparison: Comparison, *, with_frames: bool = False) -> Markup:
    """What changes. Frames are decoded for the report alone: they take too long for a page that is asked for often."""
    samples, found = comparison.counts.samples, verdict_on(comparison)
    parts = [tag("section", tag("h1", found.sentence), tag("ul", *(tag("li", shown(one)) for one in found.reasons)),
                 tag("p", shown(found.advice)), class_=f"verdict {found.mood}")]  # fmt: skip
    first, *others = [_section(one) for one in sections(comparison)] or [Markup("")]
    parts.append(first)
    if len(samples):
        more = _("{more} pairs with other questions found no room.").format(more=number(samples.more))
        parts.append(tag(
            "section", tag("h2", _("Pairs that differ")), *(_one(one, with_frames=with_frames) for one in samples),
            *([tag("p", more, class_="quiet")] if samples.more else []),
        ))  # fmt: skip
    parts += others
    numbers = {"not compared": comparison.skipped, **comparison.relay}
    facts = {_("upstream"): comparison.upstream, **{name: number(value) for name, value in numbers.items()}}
    items = [tag("div", tag("dt", name), tag("dd", shown(value))) for name, value in facts.items()]
    parts.append(tag("section", tag("details", tag("summary", tag("b", _("Details"))), tag("dl", *items))))
    return joined(*parts, tag("footer", f"rocketns {__version__}, {moment(comparison.now_ms)}"))


def _section(one: ComparisonTable) -> Markup:
    return tag("section", tag("h2", one.table.head[0]), tag("p", one.meaning, class_="quiet"), _table(one.table))


def _table(table: TextTable) -> Markup:
    """Numbers of unwanted outcomes stand out."""
    heads = [tag("th", name, scope="col") for name in table.head]
    rows = [
        tag("tr", tag("th", shown(first), scope="row"), *(
            tag("td", shown(cell), class_="bad" if name in UNWANTED and cell != "0" else "number")
            for name, cell in zip(table.head[1:], cells, strict=True)))
        for first, *cells in table.rows
    ]  # fmt: skip
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _one(sample: Sample, *, with_frames: bool) -> Markup:
    head = tag("summary", tag("b", shown(sample.request)), " ", tag("span", shown(facts_of(sample)), class_="quiet"))
    note = [tag("p", shown(_(sample.note)))] if sample.note else []
    table = [_table(differences_of(sample))] if sample.differences else []
    decoded = [tag("pre", "\n".join(_frames(sample.pair)))] if with_frames and sample.pair is not None else []
    return tag("details", head, *note, *table, *decoded)


def _frames(pair: Pair) -> Iterable[str]:
    """As `rocketns decode` shows them."""
    ends = ((pair.request, "client"), (pair.upstream, _("upstream")), (pair.own, "rocketns"))
    streams = [Stream(name, "", bytearray(frame), "pair") for frame, name in ends if frame]
    return lines(frames(streams), Names(is_shown=True))

"""The page of a shadow and the report: the same content, beginning with the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from rocketns import __version__
from rocketns.languages import language, texts
from rocketns.logtext import escape as shown  # a peer's text without characters that move or hide others
from rocketns.shadow.pairs import UNWANTED, Difference, Kept, Pair
from rocketns.shadow.standing import MEANINGS, Standing, moment, number, verdict_on
from rocketns.tools.decode.reading import Stream
from rocketns.tools.decode.frames import frames
from rocketns.tools.decode.showing import Names, lines

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
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{joined(*inner)}</{name}>")


def joined(*inner: str) -> Markup:
    """Several parts, of which texts are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in inner))


def report(standing: Standing) -> str:
    """One file that needs no network."""
    return _document(tag("style", Markup(STYLE)), tag("main", content(standing, with_frames=True)))


def live_page(standing: Standing) -> str:
    """The page that asks for its content again."""
    main = tag("main", tag("div", content(standing), id="content"), tag("p", "", id="said", role="status"))
    style = Markup('<link rel="stylesheet" href="/page.css">')
    return _document(style, joined(main, Markup('<script src="/page.js"></script>')))


def _document(style: Markup, body: Markup) -> str:
    meta = Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">')
    head = joined(meta, tag("title", TITLE), style)
    return f'<!DOCTYPE html>\n<html lang="{language()}"><head>{head}</head><body>{body}</body></html>\n'


def content(standing: Standing, *, with_frames: bool = False) -> Markup:
    """What changes. Frames are decoded for the report alone: they take too long for a page that is asked for often."""
    counts, found = standing.counts, verdict_on(standing)
    parts = [tag("section", tag("h1", found.sentence), tag("ul", *(tag("li", shown(one)) for one in found.reasons)),
                 tag("p", shown(found.advice)), class_=f"verdict {found.mood}")]  # fmt: skip
    if counts.outcomes:
        parts.append(_requests(standing))
    if len(counts.samples):
        parts.append(_kept(counts.samples, counts.samples.more, with_frames=with_frames))
    parts.append(_names(_("Listed differences"), _("docs/differences.md has the reason of each."), counts.listed))
    parts.append(_names(_("Clients"), _("Languages and releases, of the pairs that were judged."), counts.clients))
    parts.append(_names(_("Releases of the upstream"), _("As the headers of its answers say."), counts.releases))
    parts.append(_details(standing))
    parts.append(tag("footer", f"rocketns {__version__}, {moment(standing.now_ms)}"))
    return joined(*parts)


def _details(standing: Standing) -> Markup:
    numbers = {"not compared": standing.counts.skipped, **standing.relay}
    facts = {_("upstream"): standing.upstream, _("reference"): standing.reference or "-",
             **{name: number(value) for name, value in numbers.items()}}  # fmt: skip
    items = [tag("div", tag("dt", name), tag("dd", shown(value))) for name, value in facts.items()]
    return tag("section", tag("details", tag("summary", tag("b", _("Details"))), tag("dl", *items)))


def _requests(standing: Standing) -> Markup:
    occur = standing.columns
    heads = [tag("th", one, title=_(MEANINGS[one]), scope="col") for one in occur]
    rows = [
        tag("tr", tag("th", name, scope="row"), *(
            tag("td", number(numbers[one]), class_="bad" if one in UNWANTED and numbers[one] else "number")
            for one in occur))
        for name, numbers in standing.counts.by_request()
    ]  # fmt: skip
    meanings = [tag("li", tag("b", one), f": {_(MEANINGS[one])}") for one in occur]
    table = tag("table", tag("thead", tag("tr", tag("th", _("request"), scope="col"), *heads)), tag("tbody", *rows))
    return tag("section", tag("h2", _("Answers by request")), table, tag("ul", *meanings, class_="quiet"))


def _kept(kept: Iterable[Kept], more: int, *, with_frames: bool) -> Markup:
    text = _("{more} pairs with other questions found no room.").format(more=number(more))
    rest = [tag("p", text, class_="quiet")] if more else []
    return tag(
        "section", tag("h2", _("Pairs that differ")), *(_one(one, with_frames=with_frames) for one in kept), *rest
    )


def _one(kept: Kept, *, with_frames: bool) -> Markup:
    facts = f"{kept.outcome}, {number(kept.times)} x; {moment(kept.at_ms)}, {kept.client}, {kept.peer}"
    note = [tag("p", shown(_(kept.note)))] if kept.note else []
    heads = [tag("th", name, scope="col") for name in (_("where"), _("upstream"), "rocketns")]
    rows = [_row(one) for one in kept.differences]
    table = [tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))] if rows else []
    head = tag("summary", tag("b", shown(kept.request)), " ", tag("span", shown(facts), class_="quiet"))
    decoded = [tag("pre", "\n".join(_frames(kept.pair)))] if with_frames and kept.pair is not None else []
    return tag("details", head, *note, *table, *decoded)


def _frames(pair: Pair) -> Iterable[str]:
    """As `rocketns decode` shows them."""
    ends = ((pair.request, "client"), (pair.upstream, _("upstream")), (pair.own, "rocketns"))
    streams = [Stream(name, "", bytearray(frame), "pair") for frame, name in ends if frame]
    return lines(frames(streams), Names(is_shown=True))


def _row(one: Difference) -> Markup:
    cells = [tag("td", tag("code", shown(text)) if text else _("nothing")) for text in (one.upstream, one.own)]
    return tag("tr", tag("th", shown(one.path), scope="row"), *cells)


def _names(title: str, meaning: str, names: Counter[str]) -> Markup:
    rows = [tag("tr", tag("th", shown(name), scope="row"), tag("td", number(n))) for name, n in names.most_common()]
    table = tag("table", tag("tbody", *rows))
    return tag("section", tag("h2", title), tag("p", meaning, class_="quiet"), table) if names else Markup("")

"""The page of a shadow and the report: the same content, beginning with the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from rocketns import __version__
from rocketns.logtext import escape as shown  # a peer's text without characters that move or hide others
from rocketns.shadow.counting.kept import Difference, Kept
from rocketns.shadow.counting.standing import MEANINGS, Standing, number, verdict_on
from rocketns.shadow.counting.summary import columns
from rocketns.shadow.pairs import UNWANTED

TITLE = "rocketns shadow"
_STATIC = files(__package__).joinpath("static")
STYLE = _STATIC.joinpath("page.css").read_text("utf-8")
SCRIPT = _STATIC.joinpath("page.js").read_text("utf-8")


def report(standing: Standing) -> str:
    """One file that needs no network."""
    head = joined(_meta(), tag("title", TITLE), tag("style", Markup(STYLE)))
    return _document(head, tag("main", content(standing)))


def live_page(standing: Standing) -> str:
    """The page that asks for its content again."""
    head = joined(_meta(), tag("title", TITLE), Markup('<link rel="stylesheet" href="/page.css">'))
    main = tag("main", tag("div", content(standing), id="content"), tag("p", "", id="said", role="status"))
    return _document(head, joined(main, Markup('<script src="/page.js"></script>')))


def _document(head: Markup, body: Markup) -> str:
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _meta() -> Markup:
    return Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">')


def content(standing: Standing) -> Markup:
    """What changes."""
    counts = standing.counts
    parts = [_verdict(standing), _figures(standing), _requests(standing)]
    parts += [_kept(counts.samples, counts.samples.more)] if len(counts.samples) else []
    parts += [
        _names("Listed differences", "See docs/differences.md: each has its reason there.", counts.listed),
        _names("Clients", "Languages and releases, of the pairs that were judged.", counts.clients),
        _names("Releases of the upstream", "As the headers of its answers say.", counts.releases),
        _footer(standing),
    ]
    return joined(*parts)


def _verdict(standing: Standing) -> Markup:
    found = verdict_on(standing)
    reasons = [tag("li", shown(reason)) for reason in found.reasons]
    return tag("section", tag("h1", found.sentence), tag("ul", *reasons), class_=f"verdict {found.mood}")


def _figures(standing: Standing) -> Markup:
    facts = {
        "upstream": standing.upstream, "reference": standing.reference or "none",
        "rocketns": standing.half or "unknown",
        "not compared": number(standing.counts.skipped),
        **{name.replace("_", " "): number(value) for name, value in standing.relay.items()},
    }  # fmt: skip
    items = [tag("div", tag("dt", name), tag("dd", shown(value))) for name, value in facts.items()]
    return tag("section", tag("dl", *items))


def _requests(standing: Standing) -> Markup:
    occur = columns(standing)
    heads = [tag("th", one, title=MEANINGS[one], scope="col") for one in occur]
    rows = [
        tag("tr", tag("th", name, scope="row"), *(_cell(numbers[one], bad=one in UNWANTED) for one in occur))
        for name, numbers in standing.counts.by_request()
    ]
    meanings = [tag("li", tag("b", one), f": {MEANINGS[one]}") for one in occur]
    table = tag("table", tag("thead", tag("tr", tag("th", "request", scope="col"), *heads)), tag("tbody", *rows))
    return tag("section", tag("h2", "Answers by request"), table, tag("ul", *meanings, class_="quiet"))


def _cell(value: int, *, bad: bool) -> Markup:
    return tag("td", number(value), class_="bad" if bad and value else "number")


def _kept(kept: Iterable[Kept], more: int) -> Markup:
    rest = [tag("p", f"{number(more)} pairs with other questions found no room.", class_="quiet")] if more else []
    return tag("section", tag("h2", "Pairs that differ"), *(_one(one) for one in kept), *rest)


def _one(kept: Kept) -> Markup:
    when = datetime.fromtimestamp(kept.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    facts = f"{kept.outcome}, {number(kept.times)} times; first {when}, {kept.client} at {kept.peer}"
    note = [tag("p", shown(kept.note))] if kept.note else []
    heads = [tag("th", name, scope="col") for name in ("where", "the upstream", "rocketns")]
    rows = [_row(one) for one in kept.differences]
    table = [tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))] if rows else []
    head = tag("summary", tag("b", shown(kept.request)), " ", tag("span", shown(facts), class_="quiet"))
    return tag("details", head, *note, *table)


def _row(one: Difference) -> Markup:
    cells = [tag("td", tag("code", shown(text)) if text else "nothing") for text in (one.upstream, one.own)]
    return tag("tr", tag("th", shown(one.path), scope="row"), *cells)


def _names(title: str, meaning: str, names: Counter[str]) -> Markup:
    if not names:
        return Markup("")
    rows = [
        tag("tr", tag("th", shown(name), scope="row"), tag("td", number(count))) for name, count in names.most_common()
    ]
    return tag("section", tag("h2", title), tag("p", meaning, class_="quiet"), tag("table", tag("tbody", *rows)))


def _footer(standing: Standing) -> Markup:
    when = datetime.fromtimestamp(standing.now_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return tag("footer", f"rocketns {__version__}, {when}")


class Markup(str):
    """Made by `tag`, so it is not escaped again."""

    __slots__ = ()


def tag(name: str, *inner: str, **attributes: str) -> Markup:
    """An element. ``class_`` is the attribute class; an underscore inside a name is a hyphen."""
    given = "".join(f' {key.strip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{joined(*inner)}</{name}>")


def joined(*inner: str) -> Markup:
    """Several parts, of which texts are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in inner))

"""Values as text: times in UTC, durations, counts, queue ids, and words for the codes of the journal.

Names in any script, shown so that they disturb nothing around them.

Letters that are written from right to left move the digits and names beside them. So on the page and in Markdown they
are isolated. Terminals know no isolation: there they are escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from rocketns.languages import N_
from rocketns.pipeline.contract import terms
from rocketns.pipeline.saying import _

NONE = "-"
NAMES_SHOWN = 8
SECONDS, MINUTES, HOURS, DAYS = N_("%(n)s s"), N_("%(n)s min"), N_("%(n)s h"), N_("%(n)s d")
UNITS = ((86_400, DAYS, 3_600, HOURS), (3_600, HOURS, 60, MINUTES), (60, MINUTES, 1, SECONDS))

CAUSES = {
    "expired": N_("heartbeats stopped (expired)"),
    "unconfirmed": N_("kept, but never heard again (unconfirmed)"),
    "refused": N_("kept, but its address refused a connection (refused)"),
    "channel_close": N_("connection closed (channel_close)"),
    "channel_exception": N_("connection broke (channel_exception)"),
    "channel_idle": N_("connection idle (channel_idle)"),
    "unregister": N_("broker unregistered (unregister)"),
    "conflict": N_("another broker took the name (conflict)"),
    "admin": N_("an administrator's command (admin)"),
    "register": N_("registration (register)"),
    "heartbeat": N_("changed by a later registration of the broker (heartbeat)"),
    "topic": N_("topic registered by itself (topic)"),
    "perm": N_("permission changed (perm)"),
    "observed": N_("seen from outside, which does not show why (observed)"),
    "start": N_("name server started (start)"),
    "watched": N_("there when watching began (watched)"),
    "unwatched": N_("no longer watched from outside (unwatched)"),
    "stop": N_("name server stopped (stop)"),
    "lost": N_("name server ended without a stop record (lost)"),
    "silent": N_("name server went silent (silent)"),
    "snapshot": N_("first noted by a snapshot (snapshot)"),
    "open": N_("still up at the end (open)"),
}
KINDS = {
    "graceful": N_("graceful: it unregistered"),
    "crash": N_("crash: its connections broke everywhere"),
    "silent": N_("silent: its heartbeats stopped everywhere"),
    "partition": N_("partition: gone for some name servers, alive for others"),
    "observed": N_("observed: gone, and the cause is not visible from outside"),
    "unclear": N_("unclear: name servers saw different endings"),
}
# Words that columns of the tables hold.
CODES = frozenset((
    N_("user"), N_("system"), N_("retry"), N_("dlq"), N_("answered"), N_("refused"), N_("silent"),
    N_("reference"), N_("versions"), N_("given"), N_("observed"), N_("none"),
    N_("drop"), N_("hole"), N_("corrupt"), N_("unwatched"), N_("unknown"),
))  # fmt: skip
DOUBTS = (N_("lost records"), N_("clocks"))


def short(name: Any) -> str:
    """A name within a sentence, in quotation marks if it could be read as a part of the sentence."""
    return _quoted(visible(str(name)))


def short_strict(name: Any) -> str:
    """`short` for terminals and chats."""
    return _quoted(strict(str(name)))


def _quoted(name: str) -> str:
    shown = shortened(name, 48)
    if shown and not set(shown) & set(" “”"):
        return shown
    return "“" + shown.replace("“", '"').replace("”", '"') + "”"


def shortened(text: str, longest: int) -> str:
    """The name cut in its middle, since both ends distinguish names."""
    if len(text) <= longest:
        return text
    head = (longest - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - longest :]}"


def moment(us: int | None) -> str:
    """Epoch us as ``2026-08-03 14:03:05`` in UTC."""
    if us is None:
        return NONE
    return terms.moment(int(us))


def seconds(value: float | None) -> str:
    """Seconds in two units: ``1 min 57 s``, ``4.2 s``, ``350 ms``."""
    if value is None:
        return NONE
    if 0 < value < 1:
        return _("%(n)s ms") % {"n": f"{value * 1_000:.0f}"}
    if value < 60:
        return _(SECONDS) % {"n": f"{value:.1f}".removesuffix(".0")}
    whole = round(value)
    size, unit, part_size, part_unit = next(u for u in UNITS if whole >= u[0])
    part = whole % size // part_size
    units = [(whole // size, unit), (part, part_unit)] if part else [(whole // size, unit)]
    return " ".join(_(name) % {"n": n} for n, name in units)


def milliseconds(value: float | None) -> str:
    """Milliseconds as ``seconds`` writes them."""
    return NONE if value is None else seconds(value / 1_000)


def microseconds(value: float | None) -> str:
    """Microseconds as ``seconds`` writes them."""
    return NONE if value is None else seconds(value / 1_000_000)


def number(value: float | None) -> str:
    """A count with thousands separators; a mean with three decimals."""
    if value is None:
        return NONE
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3f}".rstrip("0").rstrip(".")


def sentences(*said: str) -> str:
    """Sentences one after another, without the empty ones."""
    text = ""
    for sentence in filter(None, said):
        text = _("%(before)s %(after)s") % {"before": text, "after": sentence} if text else sentence
    return text


def percent(value: float | None) -> str:
    """A share in per cent; less than 1 is never shown as 100 %."""
    if value is None:
        return NONE
    text = f"{value * 100:.2f}"
    return "> 99.99 %" if text == "100.00" and value < 1 else f"{text} %"


def plain(value: Any) -> str:
    """Any other value: text as it is, booleans as yes and no."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)


def code(value: Any) -> str:
    """A word of the tables, such as ``user``; an unknown one as it is."""
    return _(str(value)) if value in CODES else plain(value)


def codes(values: Iterable[Any] | None) -> str:
    """Several such words."""
    return names(map(code, values or ()))


def names(values: Iterable[Any] | None, shown: int = NAMES_SHOWN) -> str:
    """The first names, and the number of the others."""
    given = [str(v) for v in values or ()]
    more = len(given) - shown
    if not given:
        return NONE
    first = row(given[:shown])
    return _("%(names)s and %(n)s more") % {"names": first, "n": f"{more:,}"} if more > 0 else first


def row(words: Iterable[str]) -> str:
    """``n1, n2``: words one after another."""
    return _(", ").join(words)


def queue_ids(values: Sequence[str] | None) -> str:
    """``["b:0", "b:1", "b:2", "c:5"]`` as ``b 0-2; c 5``: the broker, then its queue ids in runs."""
    pairs = sorted((broker, int(queue)) for broker, _, queue in (v.rpartition(":") for v in values or ()))
    found = [f"{b} {_runs([q for _, q in some])}" for b, some in groupby(pairs, key=lambda pair: pair[0])]
    return "; ".join(found) if found else NONE


def _runs(sorted_ids: Sequence[int]) -> str:
    runs = [list(r) for _, r in groupby(enumerate(sorted_ids), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(str(r[0][1]) if len(r) == 1 else f"{r[0][1]}-{r[-1][1]}" for r in runs)


def cause(code: str | None) -> str:
    """A cause of the journal in words, with its code; an unknown code as it is."""
    return _(CAUSES[code]) if code in CAUSES else code or NONE


def kind(code: str | None) -> str:
    """A kind of departure in words."""
    return _(KINDS[code]) if code in KINDS else code or NONE


def doubt(code: str | None) -> str:
    """Why a window may not be real; a dash if there is no doubt."""
    return _(code.replace("_", " ")) if code else NONE


def views(values: Sequence[Mapping[str, Any]] | None) -> str:
    """The view of each name server of one key: ``n1, n3: 4 read, 4 write, rw; n2: absent``."""
    said: dict[str, list[str]] = {}
    for value in values or ():
        said.setdefault(_view(value), []).append(str(value["ns"]))
    shown = (_("%(servers)s: %(view)s") % {"servers": names(some), "view": view} for view, some in said.items())
    return _("; ").join(shown) or NONE


def _view(value: Mapping[str, Any]) -> str:
    if not value["present"]:
        return _("absent")
    shown = {"read": value["r"], "write": value["w"], "permission": permission(value["p"])}
    return _("%(read)s read, %(write)s write, %(permission)s") % shown


def permission(bits: int) -> str:
    """The permission bits of a queue as RocketMQ's tools show them: 6 is ``rw``."""
    return ("r" if bits & 4 else "-") + ("w" if bits & 2 else "-")


# Without a glyph, though Unicode counts them as printable: letters, signs, and marks.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))  # of variants, without a glyph too
MARKS_MAX = 4  # that are drawn over one letter
RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))
# The blocks of these scripts, and what joins the parts of a name. The page's script has both, too.
LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
JOINING = "0-9%.:/_-"
RUN = re.compile(f"[{LETTERS}](?:[{LETTERS}{JOINING}]*[{LETTERS}])?")
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"


def visible(text: str) -> str:
    """Text with names from the network in which what disturbs is escaped: control characters, also those of writing
    direction, invisible ones, lone surrogates, and marks but for MARKS_MAX on a letter that is not ASCII."""
    if text.isascii() and text.isprintable():
        return text
    shown, room = [], 0
    for c in text:
        is_mark = unicodedata.category(c).startswith("M")
        room = room - 1 if is_mark else MARKS_MAX if not c.isascii() and c.isalnum() else 0
        shown.append(c if _has_glyph(c) and room >= 0 else _escaped(c))
    return "".join(shown)


def strict(text: str) -> str:
    """The same, with every mark and every letter escaped that is written from right to left: for terminals, drawings,
    and commands."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _is_plain(c) else _escaped(c) for c in text)


def isolated(text: str) -> str:
    """``visible`` text for places without markup, with the characters that isolate what is written from right to
    left."""
    return RUN.sub(f"{FIRST_STRONG_ISOLATE}\\g<0>{POP_ISOLATE}", visible(text))


def in_html(text: str) -> Markup:
    """``visible`` text as HTML, in which a ``bdi`` isolates what is written from right to left."""
    return Markup(RUN.sub(r"<bdi>\g<0></bdi>", str(escape(visible(text)))))


@cache
def _has_glyph(c: str) -> bool:
    return c.isprintable() and c not in BLANK and not any(ord(c) in some for some in SELECTORS)


@cache
def _is_plain(c: str) -> bool:
    is_mark = unicodedata.category(c).startswith("M")
    return _has_glyph(c) and not is_mark and unicodedata.bidirectional(c) not in RIGHT_TO_LEFT


def _escaped(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")

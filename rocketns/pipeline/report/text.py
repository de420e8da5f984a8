"""Values as text: times in UTC, durations, counts, queue ids, and words for the codes of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rocketns.pipeline.contract import times
from rocketns.pipeline.report.scripts import strict, visible

NONE = "-"
NAMES_SHOWN = 8
UNITS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))

CAUSES = {
    "expired": "heartbeats stopped (expired)",
    "unconfirmed": "kept, but never heard again (unconfirmed)",
    "refused": "kept, but its address refused a connection (refused)",
    "channel_close": "connection closed (channel_close)",
    "channel_exception": "connection broke (channel_exception)",
    "channel_idle": "connection idle (channel_idle)",
    "unregister": "broker unregistered (unregister)",
    "conflict": "another broker took the name (conflict)",
    "admin": "an administrator's command (admin)",
    "register": "registration (register)",
    "heartbeat": "changed by a later registration of the broker (heartbeat)",
    "topic": "topic registered by itself (topic)",
    "perm": "permission changed (perm)",
    "observed": "seen from outside, which does not show why (observed)",
    "start": "name server started (start)",
    "watched": "there when watching began (watched)",
    "unwatched": "no longer watched from outside (unwatched)",
    "stop": "name server stopped (stop)",
    "lost": "name server ended without a stop record (lost)",
    "silent": "name server went silent (silent)",
    "snapshot": "first noted by a snapshot (snapshot)",
    "open": "still up at the end (open)",
}
KINDS = {
    "graceful": "graceful: it unregistered",
    "crash": "crash: its connections broke everywhere",
    "silent": "silent: its heartbeats stopped everywhere",
    "partition": "partition: gone for some name servers, alive for others",
    "observed": "observed: gone, and the cause is not visible from outside",
    "unclear": "unclear: name servers saw different endings",
}


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
    return times.moment(int(us))


def seconds(value: float | None) -> str:
    """Seconds in two units: ``1 min 57 s``, ``4.2 s``, ``350 ms``."""
    if value is None:
        return NONE
    if 0 < value < 1:
        return f"{value * 1_000:.0f} ms"
    if value < 60:
        return f"{value:.1f}".removesuffix(".0") + " s"
    whole = round(value)
    size, unit, part_size, part_unit = next(u for u in UNITS if whole >= u[0])
    part = whole % size // part_size
    return f"{whole // size} {unit} {part} {part_unit}" if part else f"{whole // size} {unit}"


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


def plural(count: float, one: str, many: str = "") -> str:
    """``1 window``, ``2 windows``, ``1,200 entries``."""
    return f"{count:,.0f} {one if count == 1 else many or one + 's'}"


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
        return "yes" if value else "no"
    return str(value)


def names(values: Iterable[Any] | None, shown: int = NAMES_SHOWN) -> str:
    """The first names, and the number of the others."""
    given = [str(v) for v in values or ()]
    more = len(given) - shown
    return ", ".join(given[:shown]) + (f" and {more:,} more" if more > 0 else "") if given else NONE


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
    return CAUSES.get(code or "", code or NONE)


def kind(code: str | None) -> str:
    """A kind of departure in words."""
    return KINDS.get(code or "", code or NONE)


def doubt(code: str | None) -> str:
    """Why a window may not be real; a dash if there is no doubt."""
    return code.replace("_", " ") if code else NONE


def views(values: Sequence[Mapping[str, Any]] | None) -> str:
    """The view of each name server of one key: ``n1, n3: 4 read, 4 write, rw; n2: absent``."""
    said: dict[str, list[str]] = {}
    for value in values or ():
        said.setdefault(_view(value), []).append(str(value["ns"]))
    return "; ".join(f"{names(servers)}: {view}" for view, servers in said.items()) or NONE


def _view(value: Mapping[str, Any]) -> str:
    if not value["present"]:
        return "absent"
    return f"{value['r']} read, {value['w']} write, {permission(value['p'])}"


def permission(bits: int) -> str:
    """The permission bits of a queue as RocketMQ's tools show them: 6 is ``rw``."""
    return ("r" if bits & 4 else "-") + ("w" if bits & 2 else "-")

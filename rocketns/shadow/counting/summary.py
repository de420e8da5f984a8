"""The result of a shadow as text for a terminal. Texts of peers cannot control it."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.logtext import one_line
from rocketns.shadow.counting.kept import Kept
from rocketns.shadow.counting.standing import Standing, number, verdict_on
from rocketns.shadow.pairs import Outcome
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, TextTable, plain

KEPT_SHOWN = 10
LEFT = "their connection ended before both servers had answered"


def exit_status(standing: Standing) -> int:
    """0: no difference, 1: differences, as of `diff`; 2: nothing was compared."""
    if standing.counts.unwanted:
        return EXIT_DIFFERENT
    return EXIT_FOUND if standing.counts.judged else EXIT_UNREADABLE


def summary(standing: Standing) -> str:
    """The verdict, the counts, and the first pairs that differ."""
    return "\n".join(_blocks(standing)) + "\n"


def _blocks(standing: Standing) -> Iterator[str]:
    found = verdict_on(standing)
    yield found.sentence
    yield from (f"  {one_line(reason)}" for reason in found.reasons)
    counts = standing.counts
    if counts.outcomes:
        yield ""
        yield plain(_table(standing)).rstrip("\n")
    for title, names in (("listed differences", counts.listed), ("clients", counts.clients),
                         ("releases of the upstream", counts.releases)):  # fmt: skip
        if names:
            yield f"\n{title}: " + ", ".join(f"{one_line(name)} {number(count)}" for name, count in names.most_common())
    if left := standing.relay.get("left"):
        yield f"\n{number(left)} requests have nothing to compare: {LEFT}"
    for kept in list(counts.samples)[:KEPT_SHOWN]:
        yield from _of_kept(kept)


def _table(standing: Standing) -> TextTable:
    shown = columns(standing)
    rows = [(name, *(number(numbers[one]) for one in shown)) for name, numbers in standing.counts.by_request()]
    return TextTable(("request", *shown), rows)


def columns(standing: Standing) -> list[Outcome]:
    """The outcomes that occur."""
    return [one for one in Outcome if standing.counts.of(one)]


def _of_kept(kept: Kept) -> Iterator[str]:
    yield one_line(f"\n{kept.outcome}: {kept.request}".lstrip("\n"))
    yield one_line(f"  {number(kept.times)} times; {kept.client} at {kept.peer}{'; ' if kept.note else ''}{kept.note}")
    for one in kept.differences[:3]:
        yield one_line(f"  {one.path}: the upstream has {one.upstream or 'nothing'}, rocketns {one.own or 'nothing'}")

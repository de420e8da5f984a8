"""How a shadow stands at a moment: the verdict, with which everything shown to people begins, and the summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from rocketns.languages import N_, texts
from rocketns.protocol.codes import RequestCode
from rocketns.shadow.pairs import UNWANTED, Counts, Outcome, Sample
from rocketns.tools.arguments import shown
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, Report, TextTable, lines_of

_ = texts("help")

# The exit criterion of docs/migration.md: as long without a difference.
ENOUGH_MS = 24 * 3_600_000
SAMPLES_SHOWN = 10

MEANINGS = {
    Outcome.EQUAL: N_("the same bytes"),
    Outcome.ORDER: N_("equal but for order, times, release and machine"),
    Outcome.LISTED: N_("a listed difference"),
    Outcome.SETTLED: N_("the same later"),
    Outcome.LATE: N_("rocketns answered a second later"),
    Outcome.DIFFERENT: N_("different"),
    Outcome.MISSING: N_("one did not answer"),
    Outcome.WARMING: N_("differed before brokers had registered; not counted"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Times are the wall clock's, in milliseconds. Only ``counts`` has texts of peers.

    ``address`` is where it listens. ``settles_in_s`` is the time that brokers still have to register at the own half,
    None while that does not run. ``skipped`` pairs were not compared. ``trouble`` says why the upstream takes no
    connections. ``relay`` has its numbers.
    """

    counts: Counts
    upstream: str
    address: str
    began_ms: int
    now_ms: int
    settles_in_s: float | None = 0.0
    skipped: int = 0
    trouble: str = ""
    relay: Mapping[str, int] = field(default_factory=dict)

    @property
    def ran_ms(self) -> int:
        """Since its start."""
        return max(self.now_ms - self.began_ms, 0)

    @property
    def exit_status(self) -> int:
        """0: no difference, 1: differences, as of `diff`; 2: nothing was compared."""
        if self.counts.unwanted:
            return EXIT_DIFFERENT
        return EXIT_FOUND if self.counts.judged else EXIT_UNREADABLE


class Mood(StrEnum):
    """For colours and programs."""

    GOOD = "ok"
    WAITING = "attention"
    BAD = "critical"


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """What was compared and what differs in one sentence, what explains it, and what to do. ``reasons`` have texts of
    peers."""

    mood: Mood
    sentence: str
    reasons: tuple[str, ...] = ()
    advice: str = ""


def verdict_on(comparison: Comparison) -> ComparisonSummary:
    """Whether rocketns answers as the upstream does. A half that does not run comes first."""
    found = _of_pairs(comparison)
    if comparison.settles_in_s is not None:
        return found
    sentence = _("rocketns' own half does not run, so nothing is compared")
    return ComparisonSummary(Mood.BAD, sentence, (found.sentence, *found.reasons),
                   _("It is started again by itself. The log says why it ended."))  # fmt: skip


def _of_pairs(comparison: Comparison) -> ComparisonSummary:
    counts = comparison.counts
    ran, judged = shown(comparison.ran_ms / 1000), number(counts.judged)
    if counts.unwanted:
        return _differing(comparison)
    if not counts.judged:
        sentence = _("no answers were compared in {ran}").format(ran=ran)
        return ComparisonSummary(Mood.WAITING, sentence, advice=_why_nothing(comparison))
    sentence = _("0 different of {judged} answers in {ran}").format(judged=judged, ran=ran)
    if comparison.skipped:
        return ComparisonSummary(Mood.WAITING, _("{sentence}; {skipped} more were not compared").format(
            sentence=sentence, skipped=number(comparison.skipped)))  # fmt: skip
    if comparison.ran_ms < ENOUGH_MS:
        enough = _("{sentence}; enough after {day} without a difference")
        return ComparisonSummary(Mood.GOOD, enough.format(sentence=sentence, day=shown(ENOUGH_MS / 1000)))
    return ComparisonSummary(Mood.GOOD, _("{sentence}; enough to replace a name server").format(sentence=sentence),
                   advice=_("docs/migration.md says how one of several name servers is replaced."))  # fmt: skip


def _why_nothing(comparison: Comparison) -> str:
    if comparison.trouble:
        return _("The upstream {upstream} takes no connections: {why}").format(
            upstream=comparison.upstream, why=comparison.trouble)  # fmt: skip
    if not comparison.relay.get("connections"):
        return _("No client asks through this address yet: point one at {address}.").format(address=comparison.address)
    if not comparison.relay.get("requests"):
        return _("What passes cannot be read. For TLS the shadow needs the keys: see docs/shadow.md.")
    if comparison.settles_in_s:
        rest = shown(comparison.settles_in_s)
        return _("Brokers register at rocketns' own half first: differences count in {rest}.").format(rest=rest)
    return _("No request has had both answers yet.")


def _differing(comparison: Comparison) -> ComparisonSummary:
    counts = comparison.counts
    kinds = ", ".join(f"{number(counts.of(one))} {one}" for one in Outcome if one in UNWANTED and counts.of(one))
    sentence = _("{unwanted} of {judged} answers in {ran} differ: {kinds}").format(
        unwanted=number(counts.unwanted), judged=number(counts.judged), ran=shown(comparison.ran_ms / 1000), kinds=kinds
    )
    ago = shown((comparison.now_ms - (counts.last_ms or comparison.now_ms)) / 1000)
    since = _("since {first}, the last one {ago} ago").format(first=moment(counts.first_ms or 0), ago=ago)
    most = [_("most often {request}").format(request=name) for name, _numbers in counts.by_request()[:1]]
    firsts = sorted(counts.samples, key=lambda sample: -sample.times)[:3]
    paths = [f"{one.request}: {one.differences[0].path if one.differences else one.note or one.outcome}"
             for one in firsts]  # fmt: skip
    advice = _("Look at each pair below. `rocketns replay` asks those of the report's file again.")
    if all(name != RequestCode.REGISTER_BROKER.name for name, _outcome in counts.outcomes):
        advice = _("No broker registers through {address}, so rocketns knows none: add it to the brokers' lists.")
    return ComparisonSummary(Mood.BAD, sentence, (since, *most, *paths), advice.format(address=comparison.address))


class ComparisonTable(NamedTuple):
    """A table, whose title is the first of its head, and what it means. Texts of peers are as they came."""

    meaning: str
    table: TextTable


def sections(comparison: Comparison) -> list[ComparisonTable]:
    """The answers by request, and the names that were counted, as far as there are any."""
    counts, occur = comparison.counts, [one for one in Outcome if comparison.counts.of(one)]
    rows = [(name, *(number(numbers[one]) for one in occur)) for name, numbers in counts.by_request()]
    meanings = "; ".join(f"{one}: {_(MEANINGS[one])}" for one in occur)
    found = [ComparisonTable(meanings, TextTable((_("Answers by request"), *occur), rows))]
    for title, meaning, names in (
        (_("Listed differences"), _("docs/differences.md has the reason of each."), counts.listed),
        (_("Clients"), _("Languages and releases, of the pairs that were judged."), counts.clients),
    ):
        named = [(name, number(count)) for name, count in names.most_common()]
        found.append(ComparisonTable(meaning, TextTable((title, _("pairs")), named)))
    return [one for one in found if one.table.rows]


def facts_of(sample: Sample) -> str:
    """How often, when and by whom it was asked."""
    return f"{sample.outcome}, {number(sample.times)} x; {moment(sample.at_ms)}, {sample.client}, {sample.peer}"


def differences_of(sample: Sample) -> TextTable:
    """Where the answers differ."""
    rows = [(one.path, one.upstream or _("nothing"), one.own or _("nothing")) for one in sample.differences]
    return TextTable((_("where"), _("upstream"), "rocketns"), rows)


def summary(comparison: Comparison) -> str:
    """The verdict, the counts, and the first pairs that differ, for a terminal. Texts of peers cannot control it."""
    found = verdict_on(comparison)
    report: Report = [found.sentence, *(f"  {one}" for one in (*found.reasons, found.advice) if one)]
    for section in sections(comparison):
        report += [section.table, section.meaning]
    if left := comparison.relay.get("left"):
        report.append(_("{left} requests have nothing to compare: their connection ended before both servers had "
                        "answered").format(left=number(left)))  # fmt: skip
    for sample in list(comparison.counts.samples)[:SAMPLES_SHOWN]:
        report += ["", sample.request, f"  {facts_of(sample)}", *([f"  {_(sample.note)}"] if sample.note else [])]
        report += [differences_of(sample)] if sample.differences else []
    return "\n".join(lines_of(report)) + "\n"


def number(value: float) -> str:
    """With commas between thousands."""
    return f"{value:,.0f}"


def moment(ms: int) -> str:
    """``2026-11-28 18:00:00 UTC``."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

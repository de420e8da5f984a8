"""The top of the page: the verdict in words, the figures of the run, and one line per section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, plural
from rocketns.pipeline.report.model import ReportInput

VERDICTS = {
    Verdict.NOTHING: ("Nothing found", "The journals are complete, and no job found anything."),
    Verdict.FINDINGS: ("Findings", "The journals are complete. The findings are below."),
    Verdict.INCOMPLETE: (
        "Incomplete input",
        "Records are missing. The findings are below, but absence of a finding proves nothing.",
    ),
}
TILES = (
    ("events", "events read"),
    ("name_servers", "name servers"),
    ("brokers", "brokers"),
    ("topics", "user topics"),
)
# A figure without windows that rest on lost records and without system topics, and the table that has all.
COUNTED = (("incidents", "incidents"), ("windows", "key_windows"))
STRATEGIES = ("averagely", "circle")


@dataclass(frozen=True)
class Tile:
    """One figure with its name."""

    value: str
    label: str


@dataclass(frozen=True)
class Summary:
    """``verdict`` is the code for the style sheet; ``found`` are (anchor, title, answer)."""

    verdict: str
    headline: str
    sentence: str
    incomplete: Sequence[str]
    tiles: Sequence[Tile]
    found: Sequence[tuple[str, str, str]]
    period: str


def summary(data: ReportInput, sections: Sequence[Section]) -> Summary:
    """The summary of a page with these sections."""
    headline, sentence = VERDICTS[data.verdict]
    return Summary(
        data.verdict.value,
        headline,
        sentence,
        data.incomplete,
        _tiles(data),
        [(section.name, section.title, section.answer) for section in sections],
        f"{text.moment(data.t0)} to {text.moment(data.t1)} UTC, {text.microseconds(data.t1 - data.t0)}",
    )


def _tiles(data: ReportInput) -> list[Tile]:
    incidents, windows = (data.figures.get(name, data[of].total) for name, of in COUNTED)
    tiles = [Tile(plural(incidents, "incident"), plural(windows, "window"))]
    lost = data.figures.get("lost_windows")
    tiles += [Tile(text.number(lost), "windows that may be lost records, not counted")] if lost else []
    tiles += [Tile(text.number(data.figures[key]), label) for key, label in TILES if key in data.figures]
    for strategy in STRATEGIES:
        most = data.figures.get(f"orphaned_qs_max_{strategy}")
        if most:
            tiles.append(Tile(text.number(most), f"queue-seconds orphaned at most, {strategy}"))
    return tiles

"""The report of a long soak: sentences, and a picture of the samples."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from tests.soak.long.run import Outcome
from tests.soak.long.watching import GROWTH_PERCENT_MAX, MB, Sample, after_warm_up, growth_percent_an_hour

FIGURES = {"rss": "memory", "descriptors": "descriptors", "threads": "threads"}
HOUR_S = 3600


def complaints(outcome: Outcome, minutes: float) -> list[str]:
    """What is wrong. Growth is judged only after an hour: before that the line's slope is noise."""
    found = list(outcome.faults)
    if not found and outcome.seconds < minutes * 60:
        found.append(f"it ended after {outcome.seconds / 60:.1f} minutes")
    if outcome.seconds >= HOUR_S:
        grown = growth(outcome.samples)
        found += [
            f"{FIGURES[name]} grew by {percent:.2f} % an hour" for name, percent in grown.items()
            if percent > GROWTH_PERCENT_MAX
        ]  # fmt: skip
    return found


def growth(samples: list[Sample]) -> dict[str, float]:
    counted = after_warm_up(samples)
    return {name: growth_percent_an_hour(counted, name) for name in FIGURES}


def lines(outcome: Outcome) -> list[str]:
    last, cpu_s = outcome.samples[-1], outcome.samples[-1].cpu_s
    said = [f"{outcome.seconds / 60:.1f} minutes; {cpu_s:.0f} s of CPU by the long-lived server"]
    said += [f"{name}: " + ", ".join(f"{n} x {kind}" for kind, n in sorted(done.items())) for name, done in
             outcome.disturbed.items()]  # fmt: skip
    said += [f"{name}: {count:,} answers checked" for name, count in sorted(outcome.answers.items())]
    said.append(f"at the end {last.rss / MB:.1f} MB, {last.descriptors} descriptors, {last.threads} threads")
    said += [f"{FIGURES[name]}: {percent:+.2f} % an hour after warm-up" for name, percent in
             growth(outcome.samples).items()]  # fmt: skip
    return said + [f"left out: {sentence}" for sentence in outcome.left_out]


def draw(outcome: Outcome, path: Path) -> None:
    """Memory, descriptors and threads over time, one below another."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    times = [one.at_s / 60 for one in outcome.samples]
    for place, axes in enumerate(figure.subplots(len(FIGURES), 1, sharex=True)):
        name = list(FIGURES)[place]
        scale = MB if name == "rss" else 1
        axes.plot(times, [getattr(one, name) / scale for one in outcome.samples], linewidth=0.9)
        axes.set_ylabel("memory, MB" if name == "rss" else FIGURES[name])
        axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes")
    figure.savefig(path)

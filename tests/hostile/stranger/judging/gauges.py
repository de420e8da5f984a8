"""What the server says of itself while strangers are there: the most of each metric that has a stated bound."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.hostile.stranger.judging.bounds import GAUGES

SAMPLE = re.compile(r"^(\w+(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)


@dataclass
class Gauges:
    """``most`` and ``at_s`` by the sample's name with its labels. ``at_s`` is of the monotonic clock."""

    most: dict[str, float] = field(default_factory=dict)
    at_s: dict[str, float] = field(default_factory=dict)

    def note(self, scrape: bytes, now_s: float) -> None:
        """One answer of /metrics."""
        for sample, number in SAMPLE.findall(scrape.decode("utf-8", "replace")):
            if sample in GAUGES and float(number) > self.most.get(sample, -1.0):
                self.most[sample], self.at_s[sample] = float(number), now_s

    def beyond(self) -> list[tuple[str, float]]:
        """What is beyond its bound, and when that was. No scrape at all is beyond every bound."""
        missing = [(f"{sample} was never scraped", 0.0) for sample in GAUGES if sample not in self.most]
        return missing + [(f"{sample} was {most:.0f}, more than {GAUGES[sample]:.0f}", self.at_s[sample])
                          for sample, most in self.most.items() if most > GAUGES[sample]]  # fmt: skip

    def lines(self) -> list[str]:
        """Of the report."""
        return [f"{sample}: {most:.0f} at the most, of {GAUGES[sample]:.0f}" for sample, most in self.most.items()]

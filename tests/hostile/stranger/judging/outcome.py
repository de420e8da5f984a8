"""What happened in a run: the report, and what is beyond the stated bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.hostile.stranger.honest import Failure, Wait
from tests.hostile.stranger.judging.bounds import (
    GROWTH_MAX,
    JOURNAL_BYTES_A_SECOND,
    LEFT_MAX,
    LOG_BYTES_A_FRAME,
    MEMORY,
    wait_s_max,
)
from tests.hostile.stranger.judging.gauges import Gauges
from tests.hostile.stranger.steps import port_of
from tests.hostile.stranger.strangers import Played
from tests.hostile.watch import MB

HONEST_BYTES = 30 * MB  # on disk, for the honest peers
# The server slept, while an honest peer waited: neither it nor other programs worked.
SLEPT_S_MAX = 5.0
SHOWN = 4


@dataclass
class Outcome:
    """Bytes; the waits of honest peers by request; ``wrong`` is whatever else should not be, ``losses`` what
    the log says of the journal's, with the reason."""

    seed: int
    mode: str
    seconds: float = 0.0
    growth: int = 0
    grew_at_s: float = 0.0
    left: int = 0
    journal: int = 0
    log: int = 0
    behind: str = ""
    waits: dict[str, list[Wait]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=Gauges)
    answers: int = 0
    refused: int = 0

    @property
    def frames(self) -> int:
        return sum(self.totals.get("frames", {}).values())

    def lines(self) -> list[str]:
        """The report."""
        lost = f"{len(self.wrong)} things" if self.wrong else "none"
        return [f"seed {self.seed}, {self.mode}: {self.seconds:.0f} s, {len(self.played)} steps, {self.frames} frames",
                f"sent, by port: {self._by_port()}",
                f"connections that the server opened: {self.totals.get('accepted', {})}",
                f"memory: {self.growth / MB:.0f} MB more at the peak, of {GROWTH_MAX / MB:.0f} MB stated; "
                f"{self.left / MB:.0f} MB afterwards",
                f"disk: journal {self.journal / MB:.1f} MB, log {self.log / MB:.1f} MB",
                *self.gauges.lines(),
                f"honest requests refused with full tables: {self.refused}",
                f"strangers left behind: {self.behind}",
                *(_line(what, waits) for what, waits in sorted(self.waits.items())),
                *self.losses,
                f"lost: {lost}; {self.answers} answers compared after a kill and a restart"]  # fmt: skip

    def _by_port(self) -> str:
        ports = Counter[str]()
        for kind, size in self.totals.get("sent", {}).items():
            ports[port_of(kind.partition(":")[0])] += size
        for kind, size in self.totals.get("gave", {}).items():
            ports[f"answers of hostile {kind.partition(',')[0]}"] += size
        return ", ".join(f"{port} {size / MB:.1f} MB" for port, size in ports.most_common())

    def faults(self) -> list[str]:
        """The figures beyond the stated bounds, with the steps that went on then."""
        failed = [f"{failure.what}{self.then(failure.at_s - 5, failure.at_s)}" for failure in self.failures[:SHOWN]]
        parts = ", ".join(f"{what} {size / MB:.0f}" for what, size in MEMORY.items())
        grown = [f"{self.growth / MB:.0f} MB at the peak, more than {GROWTH_MAX / MB:.0f} ({parts})"
                 f"{self.then(self.grew_at_s - 5, self.grew_at_s)}"] if self.growth > GROWTH_MAX else []  # fmt: skip
        kept = [f"{self.left / MB:.0f} MB kept"] if self.left > LEFT_MAX else []
        told = [f"{what}{self.then(at_s - 5, at_s)}" for what, at_s in self.gauges.beyond()]
        return [*self._late(), *failed, *grown, *kept, *told, *self._on_disk(), *self.wrong]

    def _late(self) -> list[str]:
        late = []
        for what, waits in self.waits.items():
            longest, slept = max(waits, key=lambda one: one.seconds), max(waits, key=lambda one: one.slept_s)
            if longest.seconds > (most := wait_s_max(what, self.mode)):
                late.append(f"{what} waited {longest}, more than {most:.2f} s{self._during(longest)}")
            elif slept.slept_s > SLEPT_S_MAX:
                late.append(f"{what} waited {slept}{self._during(slept)}")
        return late

    def _on_disk(self) -> list[str]:
        journal_max = HONEST_BYTES + JOURNAL_BYTES_A_SECOND * self.seconds
        log_max = HONEST_BYTES + LOG_BYTES_A_FRAME * self.frames
        return [f"the {what} grew by {size / MB:.0f} MB, more than {most / MB:.0f}"
                for what, size, most in (("journal", self.journal, journal_max), ("log", self.log, log_max))
                if size > most]  # fmt: skip

    def _during(self, wait: Wait) -> str:
        return self.then(wait.began_s, wait.ended_s)

    def then(self, began_s: float, ended_s: float) -> str:
        """The steps between two times of the monotonic clock, and how to play them again."""
        at_once = [one for one in self.played if one.began_s <= ended_s and one.ended_s >= began_s]
        if not at_once:
            return ""
        numbers = [one.number for one in at_once]
        return "".join([f"\n    python -m tests.hostile.stranger --seed {self.seed} --mode {self.mode} "
                        f"--steps {max(0, min(numbers) - 1)}-{max(numbers)}",
                        *(f"\n      {one.step}" for one in at_once[:12])])  # fmt: skip


def _line(what: str, waits: list[Wait]) -> str:
    seconds = sorted(wait.seconds for wait in waits)
    median, p99 = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
    longest = max(waits, key=lambda wait: wait.seconds)
    return (f"{what}: {len(seconds)} times, median {median * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, "
            f"longest {longest}")  # fmt: skip

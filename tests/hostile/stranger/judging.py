"""The stated bounds, and what is beyond them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from interop.harness.servers import AsyncioServer
from tests.hostile.stranger.honest import LISTED, OF_NEW, Failure, Wait
from tests.hostile.stranger.strangers import Played
from tests.hostile.watch import MB

INCOMING_BYTES_MAX = OUTGOING_BYTES_MAX = 32 * MB
KV_BYTES_MAX = JOURNAL_BUFFER_BYTES = 4 * MB
# Memory for the tables of the brokers that strangers keep registered at a time: no limit bounds them.
TABLES = 100 * MB
DECODING = 200 * MB
# Unfinished frames and unsent answers, frames being decoded, waiting records, KV items here and in the file's thread.
BEGINNING = 64 * MB  # a server without peers has less
GROWTH_MAX = INCOMING_BYTES_MAX + OUTGOING_BYTES_MAX + DECODING + JOURNAL_BUFFER_BYTES + 3 * KV_BYTES_MAX + TABLES
LEFT_MAX = 100 * MB
WAIT_S_MAX = 1.0
# Without reactors one thread accepts, reads and serves, so a new connection also waits behind the others that the
# kernel keeps for it, 1,024 at the most.
NEW_WAIT_S_MAX_ON_ASYNCIO = 2.0
# It accepts 500 connections a second, and the kernel keeps up to 1,024.
LISTED_WAIT_S_MAX = 3.0
# Bytes on disk for each byte from strangers, and for the honest peers.
JOURNAL_FACTOR, LOG_FACTOR, HONEST_BYTES = 2.0, 2.0, 30 * MB
SHOWN = 4


@dataclass
class Outcome:
    """Bytes; the waits of honest peers by request; ``wrong`` is whatever else should not be."""

    seed: int
    mode: str
    growth: int = 0
    grew_at_s: float = 0.0
    left: int = 0
    journal: int = 0
    log: int = 0
    behind: str = ""
    waits: dict[str, list[Wait]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def bytes_sent(self) -> int:
        return sum(self.totals.get("sent", {}).values()) + sum(self.totals.get("gave", {}).values())

    def lines(self) -> list[str]:
        """The report."""
        memory = f"memory: {self.growth / MB:.0f} MB more at the peak, {self.left / MB:.0f} MB afterwards"
        disk = f"disk: journal {self.journal / MB:.1f} MB, log {self.log / MB:.1f} MB"
        doors = Counter[str]()
        for kind, size in [*self.totals.get("sent", {}).items(), *self.totals.get("gave", {}).items()]:
            doors[kind.partition(":")[0]] += size
        sent = ", ".join(f"{door} {size / MB:.1f} MB" for door, size in doors.most_common())
        return [f"seed {self.seed}, {self.mode}: {len(self.played)} steps, {self.bytes_sent / MB:.0f} MB: {sent}",
                f"connections that the server opened: {self.totals.get('accepted', {})}", memory, disk,
                f"strangers left behind: {self.behind}",
                *(_line(what, waits) for what, waits in sorted(self.waits.items()))]  # fmt: skip

    def faults(self) -> list[str]:
        """The figures beyond the stated bounds, with the steps that went on then."""
        late = [
            f"{what} waited {wait.seconds:.2f} s, more than {most} s{self.then(wait.began_s, wait.ended_s)}"
            for what, waits in self.waits.items()
            for wait in sorted(waits, key=lambda one: -one.seconds)[:1]
            if wait.seconds > (most := self._wait_s_max(what))
        ]
        failed = [f"{failure.what}{self.then(failure.at_s - 5, failure.at_s)}" for failure in self.failures[:SHOWN]]
        grown = [f"{self.growth / MB:.0f} MB at the peak, more than {GROWTH_MAX / MB:.0f}"
                 f"{self.then(self.grew_at_s - 5, self.grew_at_s)}"] if self.growth > GROWTH_MAX else []  # fmt: skip
        kept = [f"{self.left / MB:.0f} MB kept"] if self.left > LEFT_MAX else []
        return [*late, *failed, *grown, *kept, *self._on_disk(), *self.wrong]

    def _on_disk(self) -> list[str]:
        sizes = (("journal", self.journal, JOURNAL_FACTOR), ("log", self.log, LOG_FACTOR))
        return [f"the {what} grew by {size / MB:.0f} MB, more than {factor} bytes for each that strangers sent"
                for what, size, factor in sizes if size > factor * self.bytes_sent + HONEST_BYTES]  # fmt: skip

    def _wait_s_max(self, what: str) -> float:
        if what == LISTED:
            return LISTED_WAIT_S_MAX
        return NEW_WAIT_S_MAX_ON_ASYNCIO if self.mode == AsyncioServer.mode and what in OF_NEW else WAIT_S_MAX

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
    return (f"{what}: {len(seconds)} times, median {median * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, "
            f"longest {seconds[-1] * 1000:.1f} ms")  # fmt: skip

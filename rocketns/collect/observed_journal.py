"""The journal of one watched name server: its boots begin and end with the watching. And the time of the journals."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rocketns.collect.observing import Observed
from rocketns.config.journal import JournalConfig
from rocketns.journal.journal import Journal
from rocketns.journal.restore import restore
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import BrokerDown, ConfigChanged, Event

log = logging.getLogger("rocketns.collect")

# Time synchronisation moves a clock by less between two readings; more is a step.
STEP_S = 2.0
# An older state of the name server says too little of the present one.
STATE_AGE_MS_MAX = 3_600_000


class SteadyClock:
    """The time of the journals, epoch ms: the machine's clock at the start, and what passed since.

    Where that clock is set, times before and after it would be in another order than what happened: the log says once
    by how much it was.
    """

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns,
        passed_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
    ) -> None:  # fmt: skip
        self._wall_ns, self._passed_ns = wall_ns, passed_ns
        self._began_ns = wall_ns() - passed_ns()
        self._set_by_s = 0.0

    def __call__(self) -> int:
        now_ns = self._began_ns + self._passed_ns()
        moved_s = (self._wall_ns() - now_ns) / 1e9
        if abs(moved_s - self._set_by_s) > STEP_S:
            log.warning("the clock of this machine was set by %+.1f s. Times of journals go on as before, %+.1f s off "
                        "from it: start again to take the new time", moved_s - self._set_by_s, -moved_s)  # fmt: skip
            self._set_by_s = moved_s
        return now_ns // 1_000_000


class ObservedJournal:
    """`restore`; then `begin`, `record`, `tick`, `end`, and so on again; `finish` at last. Times are epoch ms.

    ``later(seconds, step)`` calls ``step`` on the same thread after that time. `restore` and `finish` wait for the
    disk, and `begin` where it is stuck. ``is_cut``: the end of a boot could not be written.
    """

    def __init__(
        self, config: JournalConfig, ns: str, observed: Observed, later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._config = replace(config, journal_ns=ns, journal_lookup_seconds=0)
        self.observed = observed
        self.is_cut = False
        self._ns, self._later = ns, later
        self._journal: Journal | None = None
        self._ending: Journal | None = None
        self._is_restored = self._lacks_topics = False
        # When the name server last showed the state that readers of the journal have. None: they have another one.
        self._watched_ms: int | None = None

    def restore(self, epoch_ms: int) -> tuple[int, int] | None:
        """Fill the empty tables with the state at the end of the journal, if it is known and not older than an hour.

        When the name server was watched last, and since when at least each topic was looked at. A boot without topics
        is not continued.
        """
        known = restore(Path(self._config.journal_path), self._ns, epoch_ms, seconds_max=epoch_ms // 1000)
        if known is None or not (known.whole and known.begins_complete) or known.looked_epoch_ms is None:
            return None
        self._watched_ms = known.watched_epoch_ms
        if not self.resumes(epoch_ms):
            return None
        self.observed.fill(known.routes)
        return self._watched_ms, min(self._watched_ms, known.looked_epoch_ms)

    def resumes(self, epoch_ms: int) -> bool:
        """Whether `begin` may continue with ``restored`` from where the last boot ended. Otherwise first read all."""
        self.finish()
        return self._watched_ms is not None and 0 <= epoch_ms - self._watched_ms <= STATE_AGE_MS_MAX

    def begin(self, epoch_ms: int, looked: Callable[[], int] | None, *, restored: bool) -> None:
        """A boot begins, with what is known. ``looked`` says since when at least each topic was looked at; None: no
        topic can be known."""
        self.finish()
        self._is_restored, self._lacks_topics = restored, looked is None
        observed = self.observed
        self._journal = Journal(
            self._config, self._ns, observed.tables, observed.kv, epoch_ms, observes=True,
            ends=lambda: {"no_topics": True} if looked is None else {"looked": looked() * 1000},
        )  # fmt: skip
        self._journal.start(self._later, lambda _call: None, epoch_ms, DoubtReason.RESTORED if restored else None)
        self._journal.record([ConfigChanged(key, value) for key, value in observed.properties.items()], (0, epoch_ms))

    def record(self, events: list[Event], epoch_ms: int, since_ms: int) -> None:
        """What one answer changed, after ``since_ms`` and not later than ``epoch_ms``."""
        assert self._journal is not None
        # An id or address may have been given on: it leaves before it joins.
        for is_down in (True, False):
            batch = [event for event in events if isinstance(event, BrokerDown) is is_down]
            if batch:
                self._journal.record(batch, (0, epoch_ms), since_ms)

    def tick(self, epoch_ms: int) -> None:
        """About every second: hands records to the writer and begins work that is due."""
        if self._journal is not None:
            self._journal.tick(epoch_ms)

    def end(self, epoch_ms: int, since_ms: int) -> None:
        """The name server, which was last read at ``since_ms``, is not watched any more: the boot ends."""
        assert self._journal is not None
        self._ending, self._journal = self._journal, None
        self._watched_ms = None if self._lacks_topics else min(since_ms, epoch_ms)
        self._ending.stop(epoch_ms, since_ms)

    def finish(self) -> None:
        """The boot before is on disk; else nobody may continue from it, and ``is_cut``. So where its records do not
        give the whole state."""
        if self._ending is None:
            return
        ended, self._ending = self._ending, None
        is_written = ended.join()
        self.is_cut |= not is_written
        is_whole = ended.has_whole_state or (self._is_restored and not ended.buffer.lost_total)
        if not (is_written and is_whole):
            self._watched_ms = None

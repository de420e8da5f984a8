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
from rocketns.routeinfo.prior_routes import PriorRoutes

log = logging.getLogger("rocketns.collect")

# Time synchronisation moves a clock by less between two readings; more is a step.
STEP_MS = 2_000


def wall_clock_ms() -> int:
    """Epoch ms."""
    return time.time_ns() // 1_000_000


def running_ms() -> int:
    """ms that pass evenly, also while the machine is suspended."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class SteadyClock:
    """The time of the journals: the machine's clock, which goes on steadily where that is set. Call it for epoch ms.

    It follows the machine's clock where that is moved slowly, and never goes back.

    A step is not followed: times before and after it would be in another order than what happened. The log says once
    by how much the clock was set.
    """

    def __init__(self, wall_ms: Callable[[], int] = wall_clock_ms, passed_ms: Callable[[], int] = running_ms) -> None:
        self._wall_ms, self._passed_ms = wall_ms, passed_ms
        self._ahead_ms = wall_ms() - passed_ms()  # what is shown, before what passed
        self._set_by_ms = 0  # of the machine's clock, in all steps
        self._last_ms = 0

    def __call__(self) -> int:
        passed_ms = self._passed_ms()
        moved_ms = self._wall_ms() - self._set_by_ms - self._ahead_ms - passed_ms
        if abs(moved_ms) <= STEP_MS:
            self._ahead_ms += moved_ms
        else:
            self._set_by_ms += moved_ms
            log.warning(
                "the clock of this machine was set by %+.1f s. The journals' times go on as before, %+.1f s off from "
                "it now: start again to take the new time", moved_ms / 1000, -self._set_by_ms / 1000,
            )  # fmt: skip
        self._last_ms = max(self._last_ms, passed_ms + self._ahead_ms)
        return self._last_ms


# An older state of the name server says too little of the present one.
STATE_AGE_MS_MAX = 3_600_000
# How often the last snapshot waits for the disk, and how long each time, before it is left off.
WAITS_MAX, WAIT_S = 20, 0.1


class ObservedJournal:
    """`restore` at the start; then `begin`, `record`, `tick`, and `lost` or `close`. After `lost` it begins again.

    ``later(seconds, step)`` calls ``step`` on the same thread after that time. Only `restore` and `close` wait for the
    disk, and `begin` where it is stuck. Times are epoch ms.
    """

    def __init__(
        self, config: JournalConfig, ns: str, observed: Observed, later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._config = replace(config, journal_ns=ns, journal_lookup_seconds=0)
        self._ns = ns
        self._observed = observed
        self._later = later
        self._journal: Journal | None = None
        self._ending: Journal | None = None
        self._began_restored = False
        # When the name server last showed the state that readers of the journal have. None: they have another one.
        self._watched_ms: int | None = None
        # Each topic was looked at then or later. None: topics are not known.
        self.looked_ms: int | None = None
        self._looked: Callable[[], int | None] = lambda: self.looked_ms
        self.is_cut = False  # the end of a boot could not be written

    def restore(self, epoch_ms: int) -> int | None:
        """Fill the empty tables with the state at the end of the journal, if it is known and not older than an hour.

        Returns what `resumes` does then; ``looked_ms`` says since when at least each topic was looked at. A boot
        without topics is not continued. Waits for the disk.
        """
        known = restore(Path(self._config.journal_path), self._ns, epoch_ms, seconds_max=epoch_ms // 1000)
        if known is None or not known.whole or not known.begins_known or _has_live_entries(known.routes):
            return None
        if known.looked_epoch_ms is None:
            return None
        self._watched_ms, self.looked_ms = known.watched_epoch_ms, known.looked_epoch_ms
        if self.resumes(epoch_ms) is not None and not self._observed.fill(known.routes):
            self._watched_ms = None
        return self.resumes(epoch_ms)

    def resumes(self, epoch_ms: int) -> int | None:
        """The moment at which the name server was last watched, if `begin` may continue from then with ``restored``.

        What the first answers change happened after this moment; for routes, after the topic was looked at. None: first
        read everything.
        """
        self.finish()
        watched = self._watched_ms
        return watched if watched is not None and 0 <= epoch_ms - watched <= STATE_AGE_MS_MAX else None

    def begin(self, epoch_ms: int, *, restored: bool, looked: Callable[[], int | None] | None = None) -> None:
        """A boot begins, with what ``observed`` holds. Read KV items and configuration before it.

        With ``restored``, no groups, topics and routes were read since: `resumes` gives a moment. Without, all were.
        ``looked``: the moment since which at least each topic was looked at, when it is asked for; it returns None
        where no topic can be known. Without it that is the beginning, or what the journal said that is continued.
        ValueError where there is nothing to continue from, or the watching did not end.
        """
        if self._journal is not None or (restored and self.resumes(epoch_ms) is None):
            raise ValueError("no boot may begin so")
        self.finish()
        observed, self._began_restored = self._observed, restored
        self.looked_ms = self.looked_ms if restored else epoch_ms
        self._looked = looked or (lambda: self.looked_ms)
        self._journal = journal = Journal(
            self._config, self._ns, observed.tables, observed.kv, epoch_ms, self._later, observes=True, ends=self._ends
        )
        journal.start(lambda _call: None, epoch_ms, DoubtReason.RESTORED if restored else None)
        journal.record([ConfigChanged(key, value) for key, value in observed.properties.items()], 0, epoch_ms)

    def record(self, events: list[Event], epoch_ms: int, since_ms: int) -> None:
        """What one answer changed, after ``since_ms`` and not later than ``epoch_ms``.

        While nobody watches it is not recorded: then nobody can continue from the state before.
        """
        if self._journal is None:
            self._watched_ms = None if events else self._watched_ms
            return
        # An id or address may have been given on: it leaves before it joins.
        downs: list[Event] = [event for event in events if isinstance(event, BrokerDown)]
        others: list[Event] = [event for event in events if not isinstance(event, BrokerDown)]
        for batch in (downs, others):
            if batch:
                self._journal.record(batch, 0, epoch_ms, since_ms)

    def tick(self, epoch_ms: int) -> None:
        """About every second: hands records to the writer and begins work that is due."""
        if self._journal is not None:
            self._journal.tick(epoch_ms)

    def lost(self, epoch_ms: int, since_ms: int) -> None:
        """The name server does not answer; it was last read at ``since_ms``. The boot ends with ``stop``."""
        if self._journal is not None:
            self._end(self._journal, epoch_ms, since_ms, with_snapshot=not self._gives_state(self._journal))

    def close(self, epoch_ms: int, since_ms: int) -> None:
        """The collector stops. As `lost`, with a last snapshot, and everything is on disk then if that is possible."""
        if self._journal is not None:
            self._end(self._journal, epoch_ms, since_ms, with_snapshot=True)
        self.finish()

    def _end(self, journal: Journal, epoch_ms: int, since_ms: int, *, with_snapshot: bool) -> None:
        if with_snapshot:
            _write_last_snapshot(journal)
        may_resume = self._gives_state(journal) and self._looked() is not None
        self._watched_ms = min(since_ms, epoch_ms) if may_resume else None
        journal.stop(epoch_ms, since_ms)
        self._journal, self._ending = None, journal

    def _ends(self) -> dict[str, object]:
        """What the last record of a snapshot says of topics."""
        looked_ms = self._looked()
        return {"no_topics": True} if looked_ms is None else {"looked": looked_ms * 1000}

    def _gives_state(self, journal: Journal) -> bool:
        """Whether a reader of the whole journal knows the state."""
        return journal.has_whole_state or (self._began_restored and not journal.buffer.lost_total)

    def finish(self) -> None:
        """The boot before is on disk; else nobody may continue from it, and ``is_cut``."""
        if self._ending is not None:
            is_written = self._ending.join()
            self.is_cut |= not is_written
            is_whole = is_written and self._gives_state(self._ending)
            self._watched_ms = self._watched_ms if is_whole else None
            self._ending = None


def _has_live_entries(routes: PriorRoutes) -> bool:
    """A name server wrote this journal itself."""
    return any(live.timeout_ms is not None for live in routes.lives.values())


def _write_last_snapshot(journal: Journal) -> None:
    waits = 0
    for is_behind in journal.last_snapshot():
        if is_behind:
            journal.writer.wait_until_settled(WAIT_S)
            waits += 1
        if waits == WAITS_MAX:
            break

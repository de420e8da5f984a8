"""Watches one name server: sends what is due, hands answers to `Watch`, and begins and ends boots of its journal."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from time import thread_time
from typing import NamedTuple, Protocol

from rocketns.client.name_server import LOOKUPS_AT_ONCE, NameServer, UnusableError
from rocketns.collect.asking import Brokers, RequestRefusedError, read
from rocketns.collect.observed_journal import ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.collect.schedule import GROUPS, NAMES, Ask, Budget, Kind, Rounds, Schedule
from rocketns.collect.watch import Moment, Watch, decoded_groups
from rocketns.routeinfo.events import Event

log = logging.getLogger("rocketns.collect")


class Phase(StrEnum):
    """RETURNING: it answers, the state of the journal counts, and its settings are read. READING: everything is read
    first. In both nothing is recorded yet.
    """

    LOST = "lost"
    RETURNING = "returning"
    READING = "reading"
    WATCHED = "watched"


# What may be asked, and so change what is known.
ASKED = {
    Phase.LOST: frozenset({Kind.GROUPS}),
    Phase.RETURNING: frozenset({Kind.GROUPS, Kind.KV, Kind.CONFIGURATION}),
    Phase.READING: frozenset(Kind),
    Phase.WATCHED: frozenset(Kind),
}


# A name server is lost when so many requests for its brokers (106) in a row had no usable answer.
FAILURES_MAX = 2
# So many lookups in a row without a usable answer pause lookups until its brokers were read again.
LOOKUP_FAILURES_MAX = 32


class Pace(NamedTuple):
    """How often brokers are read, how many requests a second there are at most, and which KV namespaces are read."""

    interval_s: float
    per_second: float
    namespaces: tuple[str, ...]


class Fleet(Protocol):
    """What the collector does for one of its upstreams."""

    def topics_elsewhere(self, asking: Upstream, broker_name: str) -> Iterable[str]: ...
    def suspect_elsewhere(self, telling: Upstream, topics: Collection[str]) -> None: ...


class Upstream:
    """`restore`, then `run` until it is cancelled, then `close`. All on one event loop's thread."""

    def __init__(
        self, ns: str, server: NameServer, observed: Observed, journal: ObservedJournal, pace: Pace, fleet: Fleet,
        epoch_ms: Callable[[], int], brokers: Brokers | None = None,
    ) -> None:  # fmt: skip
        self.ns = ns
        self.addr = server.addr
        self.interval_s = pace.interval_s
        self.observed = observed
        self.phase = Phase.LOST
        self.errors: dict[Ask, str] = {GROUPS: "not read yet"}
        self.since_ms = epoch_ms()  # of the phase
        self.changes = self.boots = 0
        self.refused: dict[Ask, str] = {}
        self._failing: Counter[Ask] = Counter()  # settings and names: failures in a row
        self.budget = Budget(pace.per_second)
        self.schedule = Schedule(pace.interval_s, pace.namespaces)
        self.rounds = Rounds(pace.interval_s)
        self._server = server
        self._journal = journal
        self._fleet = fleet
        self._epoch_ms = epoch_ms
        self._brokers = brokers
        self._watch = Watch(observed, self.rounds, self, self._record)
        self._unread: set[Ask] = set()
        self._failures = self._lookup_failures = self._lookups = self._losses = 0
        self._read_ms: int | None = None  # when the last good request for brokers was sent
        self._wake = asyncio.Event()

    @property
    def knows_topics(self) -> bool:
        """Whether all names of topics were read, or cannot be."""
        return self.phase is not Phase.LOST and NAMES not in self._unread

    @property
    def lists_topics(self) -> bool:
        """Whether it does not refuse the list of its topics."""
        return NAMES not in self.refused

    @property
    def is_cut(self) -> bool:
        """Whether a part of its journal could not be written before the end."""
        return self._journal.is_cut

    @property
    def error(self) -> str:
        """What does not work, the most important first; empty if all does."""
        return "; ".join(self.errors[ask] for ask in sorted(self.errors))

    @property
    def unreadable(self) -> int:
        """Topics whose routes are none."""
        return len(self._watch.unreadable)

    def topics_of(self, broker_name: str) -> Iterable[str]:
        """Topics that other name servers show of a broker."""
        return self._fleet.topics_elsewhere(self, broker_name)

    def suspect(self, topics: Collection[str]) -> None:
        """These changed here: others should be asked for them. Not while everything is new."""
        if self.phase is Phase.WATCHED and topics:
            self._fleet.suspect_elsewhere(self, topics)

    def look_at(self, topics: Collection[str]) -> None:
        """Ask for these topics soon: they changed at another name server."""
        if self.phase is not Phase.LOST and NAMES not in self.refused:
            self.rounds.suspect(topics)
            self._wake.set()

    def restore(self) -> None:
        """Go on with the state of the journal, if it is not old. Waits for the disk."""
        known_ms, looked_ms = self._journal.restore(self._epoch_ms()), self._journal.looked_ms
        if known_ms is not None and looked_ms is not None:
            self._watch.restore(known_ms, min(known_ms, looked_ms), asyncio.get_running_loop().time())

    def tick(self) -> None:
        """About once a second."""
        self._journal.tick(self._epoch_ms())

    def close(self) -> None:
        """The watching ends."""
        if self.phase is Phase.WATCHED and self._read_ms is not None:
            self._journal.close(self._epoch_ms(), self._read_ms)
            self._set_phase(Phase.LOST)
        else:
            self._journal.finish()

    async def run(self) -> None:
        """Ask for what is due, for ever. Nothing that the name server does ends it."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as asking:
            while True:
                if (wait_s := self.budget.wait_s(loop.time())) > 0:
                    await asyncio.sleep(wait_s)
                elif (ask := self._next(loop.time())) is None:
                    await self._wait(loop.time())
                else:
                    self.budget.spend(loop.time())
                    asking.create_task(self._handle(ask, Moment(self._epoch_ms(), loop.time())))

    def _next(self, now_s: float) -> Ask | None:
        ask = self.schedule.next(now_s, ASKED[self.phase])
        if ask is not None or not self._may_look_up:
            return ask
        topic = self.rounds.next(now_s)
        if topic is None:
            return None
        self._lookups += 1
        return Ask(Kind.ROUTE, topic)

    @property
    def _may_look_up(self) -> bool:
        is_well = self._lookup_failures < LOOKUP_FAILURES_MAX and not self._failures
        return Kind.ROUTE in ASKED[self.phase] and is_well and self._lookups < LOOKUPS_AT_ONCE

    async def _wait(self, now_s: float) -> None:
        """Until something may be due, or something happened."""
        self._wake.clear()
        due_s = self.schedule.wait_s(now_s, ASKED[self.phase])
        with suppress(TimeoutError):
            await asyncio.wait_for(
                self._wake.wait(), min(due_s, self.rounds.wait_s(now_s)) if self._may_look_up else due_s
            )

    async def _handle(self, ask: Ask, sent: Moment) -> None:
        """One request and its answer. One that was sent before a loss is not used: it would change what was known."""
        losses = self._losses
        try:
            body = await read(self._server, ask)
            if losses != self._losses:
                raise UnusableError("it came after the name server was lost")
            await self._take(ask, body, sent)
        except RequestRefusedError as error:
            self._note_refused(ask, str(error))
        except UnusableError as error:
            self._note_failure(ask, str(error))
        except Exception:
            log.exception("%s (%s): an answer could not be used: %s", self.ns, self.addr, ask.kind.name)
            self._note_failure(ask, "an answer could not be used: the log says why")
        finally:
            if ask.kind is Kind.ROUTE:
                self._lookups -= 1
            else:
                self.schedule.done(ask)
            self._wake.set()
        self._begin_if_read()

    async def _take(self, ask: Ask, body: bytes | None, sent: Moment) -> None:
        if ask.kind is Kind.GROUPS:
            await self._take_groups(body or b"", sent)
        elif ask.kind is Kind.ROUTE:
            with self._counted():
                self._watch.route(ask.name, body, sent)
            self._lookup_failures = 0
        elif self._is_new(ask, body, sent):
            with self._counted():
                self._take_poll(ask, body, sent)
        self._unread.discard(ask)
        self.refused.pop(ask, None)
        self.errors.pop(_of_error(ask), None)
        self._failing.pop(ask, None)

    def _is_new(self, ask: Ask, body: bytes | None, sent: Moment) -> bool:
        if ask == NAMES in self.refused and self.phase is Phase.WATCHED:
            self._learn_topics()
        return self._watch.is_new(ask, body, sent)

    def _take_poll(self, ask: Ask, body: bytes | None, sent: Moment) -> None:
        if ask.kind is Kind.NAMES:
            self._watch.names(body or b"", sent, asyncio.get_running_loop().time())
        elif ask.kind is Kind.KV:
            self._watch.kv(ask, body, sent)
        else:
            self._watch.configuration(body or b"", sent)

    async def _take_groups(self, body: bytes, sent: Moment) -> None:
        if self.phase is Phase.LOST:
            with self._counted():
                decoded_groups(body)
            self._come_back()
        if self.phase is not Phase.RETURNING and self._watch.is_new(GROUPS, body, sent):
            with self._counted():
                found = decoded_groups(body)
            vanished = self._watch.vanished(found) if self.phase is Phase.WATCHED else ()
            asked = {} if self._brokers is None else await self._brokers.ask(vanished)
            with self._counted():
                self._watch.groups(body, found, sent, asyncio.get_running_loop().time(), asked)
        self._failures = self._lookup_failures = 0
        self._read_ms = sent.ms

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """The CPU time that an answer takes is taken from this name server's requests."""
        began_s = thread_time()
        try:
            yield
        finally:
            self.budget.rest(asyncio.get_running_loop().time(), thread_time() - began_s)

    def _come_back(self) -> None:
        """It answers again: go on where it was lost, unless that is too long ago."""
        self.schedule.all_due(asyncio.get_running_loop().time())
        self._unread = set(self.schedule.polls)
        if self._journal.resumes(self._epoch_ms()) is None:
            self._read_anew()
        else:
            self._unread -= {GROUPS, NAMES}
            self._set_phase(Phase.RETURNING)

    def _read_anew(self) -> None:
        self._watch.read_anew()
        self._unread = set(self.schedule.polls)
        self._set_phase(Phase.READING)
        log.info("%s (%s) answers: everything is read now", self.ns, self.addr)

    def _begin_if_read(self) -> None:
        """Begin a boot of the journal once what must be known before is known."""
        now_ms = self._epoch_ms()
        if self.phase is Phase.RETURNING and not self._unread:
            if self._journal.resumes(now_ms) is None:
                self._read_anew()
                return
            self._begin(now_ms, restored=True)
            self.schedule.all_due(asyncio.get_running_loop().time(), with_groups=True)
            self.rounds.suspect(self.observed.tables.topic_queue_table)
        elif self.phase is Phase.READING and not self._unread and not self.rounds.unanswered:
            self._begin(now_ms, restored=False)

    def _begin(self, now_ms: int, *, restored: bool) -> None:
        self._journal.begin(now_ms, restored=restored, looked=self._looked_ms)
        self.boots += 1
        self._set_phase(Phase.WATCHED)
        tables, how = self.observed.tables, "are known of before" if restored else "were read"
        topics = f"{len(tables.topic_queue_table)} topics" if self.lists_topics else "no topics"
        log.info("%s (%s) is watched: %d brokers and %s %s", self.ns, self.addr, len(tables.broker_addr_table), topics,
                 how)  # fmt: skip

    def _looked_ms(self) -> int | None:
        """Since when at least each topic was looked at; None: its topics cannot be known."""
        return None if not self.lists_topics else self.rounds.looked_ms(self._epoch_ms())

    def _learn_topics(self) -> None:
        """It lists its topics now. The boot that says that none is known ends, and everything is read."""
        del self.refused[NAMES]
        self._journal.lost(self._epoch_ms(), self._read_ms or self._epoch_ms())
        self.schedule.all_due(asyncio.get_running_loop().time(), with_groups=True)
        self._read_anew()

    def _note_refused(self, ask: Ask, why: str) -> None:
        """It never answers this. What it does answer is watched."""
        was_read = ask == NAMES and self.phase is Phase.WATCHED and ask not in self.refused
        if ask.kind in (Kind.GROUPS, Kind.ROUTE) or was_read:
            self._note_failure(ask, why)
            return
        if ask == NAMES:
            self._watch.no_names(asyncio.get_running_loop().time())
        self._unread.discard(ask)
        if ask not in self.refused:
            self.refused[ask] = why
            log.warning("%s (%s): %s", self.ns, self.addr, refusal(ask, why))

    def _note_failure(self, ask: Ask, why: str) -> None:
        self.errors[_of_error(ask)] = why
        if ask.kind is Kind.ROUTE:
            self.rounds.failed(ask.name)
            self._lookup_failures += 1
        elif ask.kind is not Kind.GROUPS:
            self._note_failing(ask, why)
        else:
            self._failures += 1
            self._server.disconnect()  # the network may have lost the connection without a sign
            if self._failures >= FAILURES_MAX and self.phase is not Phase.LOST:
                self._lose(why)

    def _note_failing(self, ask: Ask, why: str) -> None:
        """Settings that cannot be read again and again, too large for example, are not waited for."""
        self._failing[ask] += 1
        if self._failing[ask] >= FAILURES_MAX and ask != NAMES:
            self._note_refused(ask, why)
        else:
            self.schedule.retry(ask, asyncio.get_running_loop().time())

    def _lose(self, why: str) -> None:
        self._failing.clear()
        read_ms = self._read_ms or self._epoch_ms()
        if self.phase is Phase.WATCHED:
            self._journal.lost(self._epoch_ms(), read_ms)
        self._set_phase(Phase.LOST)
        self._losses += 1
        log.warning("%s (%s) is lost, and its state unknown until it answers again: %s", self.ns, self.addr, why)

    def _set_phase(self, phase: Phase) -> None:
        self.phase, self.since_ms = phase, self._epoch_ms()

    def _record(self, events: list[Event], since_ms: int) -> None:
        """Before everything was read nothing is a change."""
        if self.phase is Phase.WATCHED and events:
            now_ms = self._epoch_ms()
            self.changes += len(events)
            self._journal.record(events, now_ms, min(since_ms, now_ms))


def _of_error(ask: Ask) -> Ask:
    """Topics have their errors together."""
    return Ask(Kind.ROUTE) if ask.kind is Kind.ROUTE else ask


def refusal(ask: Ask, why: str) -> str:
    """What is missing because a request is refused, and what to do."""
    if ask.kind is Kind.NAMES:
        watched = "only its brokers, KV items and configuration are watched"
        return f"{why}. Its topics cannot be known (enableAllTopicList=false): {watched}"
    what = f"KV namespace {ask.name}" if ask.kind is Kind.KV else "configuration"
    return f"{why}. Its {what} is not watched"

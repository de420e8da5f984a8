"""Watches one name server: sends what is due, hands answers to `Watch`, and begins and ends boots of its journal."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import chain
from time import thread_time
from typing import NamedTuple

from rocketns.client.name_server import LOOKUPS_AT_ONCE, NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.asking import CONFIGURATION, GROUPS, NAMES, Ask, RequestRefusedError, ask_brokers, read
from rocketns.collect.observed_journal import ObservedJournal
from rocketns.collect.schedule import KV, POLLS, PollBudget, Rounds, Schedule
from rocketns.collect.watch import Moment, Watch, decoded_groups
from rocketns.protocol.codes import RequestCode
from rocketns.routeinfo.events import Event
from rocketns.tools.arguments import shown

log = logging.getLogger("rocketns.collect")


class Phase(StrEnum):
    """RETURNING: it answers, the state of before counts, and its settings are read. READING: everything is read first.
    In both nothing is recorded yet."""

    LOST = "lost"
    RETURNING = "coming back"
    READING = "being read"
    WATCHED = "watched"


# What may be asked, and so change what is known.
SETTINGS = frozenset((*KV, CONFIGURATION))
ASKED: Mapping[Phase, Collection[Ask]] = {
    Phase.LOST: (GROUPS,), Phase.RETURNING: (GROUPS, *SETTINGS), Phase.READING: POLLS, Phase.WATCHED: POLLS,
}  # fmt: skip
LOOKUP = Ask(RequestCode.GET_ROUTEINFO_BY_TOPIC)  # topics have their errors together

# A name server is lost when so many requests for its brokers (106) in a row had no usable answer.
FAILURES_MAX = 2
# So many lookups in a row without a usable answer pause lookups until its brokers were read again.
LOOKUP_FAILURES_MAX = 32


class Pace(NamedTuple):
    """How often brokers are read, and how many requests a second there are at most."""

    interval_s: float
    per_second: float


class CollectedServer:
    """`restore`, then `run` until it is cancelled, then `close`. All on one event loop's thread.

    ``others`` are all name servers of the collector. ``asking``: the client by which brokers that vanished are asked;
    None: they are not.
    """

    def __init__(
        self, ns: str, server: NameServer, journal: ObservedJournal, pace: Pace, others: Sequence[CollectedServer],
        epoch_ms: Callable[[], int], asking: RemotingClient | None = None,
    ) -> None:  # fmt: skip
        self.ns = ns
        self.name = f"{ns} ({server.addr})"
        self.observed = journal.observed
        self.phase = Phase.LOST
        self.errors: dict[Ask, str] = {GROUPS: "not read yet"}
        self.since_ms = epoch_ms()  # of the phase
        self.changes = self.boots = 0
        self.refused: dict[Ask, str] = {}
        self._failing: Counter[Ask] = Counter()  # settings and names: failures in a row
        self.budget = PollBudget(pace.per_second)
        self.schedule = Schedule(pace.interval_s)
        self.rounds = Rounds(pace.interval_s)
        self.journal = journal
        self._server, self._others, self._asking = server, others, asking
        self._epoch_ms = epoch_ms
        self.watch = Watch(self.observed, self.rounds, self._topics_elsewhere, self._suspect_elsewhere, self._record)
        self._unread: set[Ask] = set()
        self._failures = self._lookup_failures = self._lookups = self._losses = 0
        self._read_ms = 0  # when the last good request for brokers was sent
        self._wake = asyncio.Event()

    def topics_of(self, broker_name: str) -> Iterable[str]:
        """Topics that it shows of a broker."""
        topics = self.observed.tables.broker_topics.get(broker_name)
        return () if topics is None else topics.names

    def _topics_elsewhere(self, broker_name: str) -> Iterable[str]:
        return chain.from_iterable(other.topics_of(broker_name) for other in self._others if other is not self)

    def _suspect_elsewhere(self, topics: Collection[str]) -> None:
        """These changed here: others should be asked for them. Not while everything is new."""
        if self.phase is Phase.WATCHED and topics:
            for other in self._others:
                if other is not self:
                    other.look_at(topics)

    def look_at(self, topics: Collection[str]) -> None:
        """Ask for these topics soon: they changed at another name server."""
        self.rounds.suspect(topics)
        self._wake.set()

    def restore(self) -> None:
        """Go on with the state of the journal, if it is not old. Waits for the disk."""
        if (times_ms := self.journal.restore(self._epoch_ms())) is not None:
            self.watch.restore(*times_ms, asyncio.get_running_loop().time())

    def close(self) -> None:
        """The watching ends."""
        if self.phase is Phase.WATCHED:
            self.journal.end(self._epoch_ms(), self._read_ms)
            self._set_phase(Phase.LOST)
        self.journal.finish()

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
        self._lookups += topic is not None
        return None if topic is None else LOOKUP._replace(name=topic)

    @property
    def _may_look_up(self) -> bool:
        is_well = self._lookup_failures < LOOKUP_FAILURES_MAX and not self._failures
        return self.phase in (Phase.READING, Phase.WATCHED) and is_well and self._lookups < LOOKUPS_AT_ONCE

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
            await self._apply(ask, body, sent)
        except RequestRefusedError as error:
            self._note_refused(ask, str(error))
        except UnusableError as error:
            self._note_failure(ask, str(error))
        except Exception:
            log.exception("%s: an answer could not be used: %s", self.name, ask.code.name)
            self._note_failure(ask, "an answer could not be used: the log says why")
        finally:
            if ask.is_lookup:
                self._lookups -= 1
            else:
                self.schedule.done(ask)
            self._wake.set()
        if self.phase in (Phase.RETURNING, Phase.READING) and not self._unread:
            self._begin_if_read()

    async def _apply(self, ask: Ask, body: bytes | None, sent: Moment) -> None:
        if ask == GROUPS:
            await self._read_groups(body or b"", sent)
        elif ask.is_lookup:
            with self._counted():
                self.watch.route(ask.name, body, sent)
            self._lookup_failures = 0
        elif ask == NAMES in self.refused and self.phase is Phase.WATCHED:
            self._lose("it lists its topics now, and everything is read again")
        elif self.watch.is_new(ask, body, sent):
            with self._counted():
                self.watch.poll(ask, body, sent, asyncio.get_running_loop().time())
            if ask == NAMES and self.phase is Phase.READING:
                topics = len(self.rounds.seen)
                round_s = max(self.rounds.pause_s, topics / self.budget.per_second)
                log.info("%s: times of its %d topics are known to %s, a round", self.name, topics, shown(round_s))
        self._unread.discard(ask)
        self.refused.pop(ask, None)
        self.errors.pop(LOOKUP if ask.is_lookup else ask, None)
        self._failing.pop(ask, None)

    async def _read_groups(self, body: bytes, sent: Moment) -> None:
        if self.phase is Phase.LOST:
            with self._counted():
                decoded_groups(body)
            self._come_back()
        if self.phase is not Phase.RETURNING and self.watch.is_new(GROUPS, body, sent):
            with self._counted():
                found = decoded_groups(body)
            asked: Mapping[str, str] = {}
            if self._asking is not None and self.phase is Phase.WATCHED:
                asked = await ask_brokers(self._asking, self.watch.vanished(found))
            with self._counted():
                self.watch.groups(body, found, sent, asyncio.get_running_loop().time(), asked)
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
        if self.journal.resumes(self._epoch_ms()):
            self._unread = set(SETTINGS)
            self._set_phase(Phase.RETURNING)
        else:
            self._read_anew()

    def _read_anew(self) -> None:
        self.watch.read_anew()
        self._unread = set(POLLS)
        self._set_phase(Phase.READING)
        log.info("%s answers: everything is read now", self.name)

    def _begin_if_read(self) -> None:
        """Begin a boot of the journal once what must be known before is known."""
        now_ms, is_restored = self._epoch_ms(), self.phase is Phase.RETURNING
        if is_restored and not self.journal.resumes(now_ms):
            self._read_anew()
        elif is_restored or not self.rounds.unanswered:
            looked = None if NAMES in self.refused else lambda: self.rounds.looked_ms(self._epoch_ms())
            self.journal.begin(now_ms, looked, restored=is_restored)
            self.boots += 1
            self._set_phase(Phase.WATCHED)
            tables, how = self.observed.tables, "are known of before" if is_restored else "were read"
            log.info("%s is watched: %d brokers and %d topics %s", self.name, len(tables.broker_addr_table),
                     len(tables.topic_queue_table), how)  # fmt: skip
            if is_restored:
                self.schedule.all_due(asyncio.get_running_loop().time())
                self.rounds.suspect(tables.topic_queue_table)

    def _note_refused(self, ask: Ask, why: str) -> None:
        """It never answers this. What it does answer is watched."""
        was_read = ask == NAMES and self.phase is Phase.WATCHED and ask not in self.refused
        if not ask.may_lack or was_read:
            self._note_failure(ask, why)
            return
        if ask == NAMES:
            self.watch.no_names(asyncio.get_running_loop().time())
        self._unread.discard(ask)
        if ask not in self.refused:
            self.refused[ask] = why
            log.warning("%s: %s. Its %s is not watched%s", self.name, why, ask,
                        ", nor its routes (enableAllTopicList=false)" if ask == NAMES else "")  # fmt: skip

    def _note_failure(self, ask: Ask, why: str) -> None:
        self.errors[LOOKUP if ask.is_lookup else ask] = why
        if ask.is_lookup:
            self.rounds.failed(ask.name)
            self._lookup_failures += 1
        elif ask != GROUPS:
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
        if self.phase is Phase.WATCHED:
            self.journal.end(self._epoch_ms(), self._read_ms)
        self._set_phase(Phase.LOST)
        self._losses += 1
        log.warning("%s is lost, and its state unknown until it answers again: %s", self.name, why)

    def _set_phase(self, phase: Phase) -> None:
        self.phase, self.since_ms = phase, self._epoch_ms()

    def _record(self, events: list[Event], since_ms: int) -> None:
        """Before everything was read nothing is a change."""
        if self.phase is Phase.WATCHED and events:
            now_ms = self._epoch_ms()
            self.changes += len(events)
            self.journal.record(events, now_ms, min(since_ms, now_ms))

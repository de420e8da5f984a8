"""Watches several name servers at a time: one event loop, and for each its tables, its budget and its journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable

from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.asking import Brokers
from rocketns.collect.observed_journal import ObservedJournal, SteadyClock
from rocketns.collect.observing import Observed
from rocketns.collect.settings import Settings
from rocketns.collect.upstream import CollectedServer, Pace, Phase
from rocketns.config import Limits
from rocketns.config.tls import TlsConfig
from rocketns.protocol.codes import SerializeType
from rocketns.tools.arguments import shown

log = logging.getLogger("rocketns.collect")

TICK_S = 1.0
PROGRESS_EVERY_S = 60.0


class Collector:
    """`run` until it is cancelled. ``upstreams`` is what is known of each name server."""

    def __init__(self, settings: Settings, epoch_ms: Callable[[], int] | None = None) -> None:
        """Called on the event loop's thread. ``epoch_ms``: by default a `SteadyClock`."""
        epoch_ms = epoch_ms or SteadyClock()
        tls = TlsConfig.read({}, {}) if settings.tls is None else settings.tls
        limits = Limits(outgoing_connections_per_host_max=256)
        self._epoch_ms = epoch_ms
        self._client = RemotingClient(lambda: tls, settings.timeout_s, failures=logging.DEBUG, limits=limits)
        self._asking = RemotingClient(lambda: tls, settings.timeout_s, failures=logging.DEBUG)
        brokers = Brokers(self._asking) if settings.ask_brokers else None
        pace = Pace(settings.interval_s, settings.per_second, settings.namespaces)
        self.upstreams: list[CollectedServer] = []
        for ns, addr in settings.name_servers:
            observed = Observed()
            journal = ObservedJournal(settings.journal_config, ns, observed, asyncio.get_running_loop().call_later)
            server = NameServer(self._client, addr, SerializeType.JSON, settings.timeout_s, settings.signer)
            self.upstreams.append(CollectedServer(ns, server, observed, journal, pace, self, epoch_ms, brokers))
        self._told: set[str] = set()  # of which it was said what a round costs
        self._spent: dict[str, int] = {}

    def topics_elsewhere(self, asking: CollectedServer, broker_name: str) -> Iterable[str]:
        """Topics that other name servers show of a broker."""
        for other in self.upstreams:
            held = other.observed.tables.broker_topics.get(broker_name)
            if other is not asking and held is not None:
                yield from held.names

    def suspect_elsewhere(self, telling: CollectedServer, topics: Collection[str]) -> None:
        """These topics changed at a name server: the others are asked for them soon."""
        for other in self.upstreams:
            if other is not telling:
                other.look_at(topics)

    async def run(self) -> None:
        """Watch all, until this is cancelled. Nothing that a name server does ends it."""
        try:
            for upstream in self.upstreams:
                upstream.restore()
            async with asyncio.TaskGroup() as watching:
                for upstream in self.upstreams:
                    watching.create_task(upstream.run())
                await self._tick()
        finally:
            for upstream in self.upstreams:
                upstream.close()
            self._client.close()
            self._asking.close()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        progress_s = loop.time() + PROGRESS_EVERY_S
        while True:
            await asyncio.sleep(TICK_S)
            for upstream in self.upstreams:
                upstream.tick()
                if upstream.knows_topics and upstream.ns not in self._told:
                    self._told.add(upstream.ns)
                    log.info("%s", cost(upstream))
            if loop.time() >= progress_s:
                progress_s += PROGRESS_EVERY_S
                self.say_progress(PROGRESS_EVERY_S)

    def say_progress(self, since_s: float) -> None:
        """One line for each name server; ``since_s`` is the time since the last one."""
        for upstream in self.upstreams:
            spent = upstream.budget.spent
            rate, self._spent[upstream.ns] = (spent - self._spent.get(upstream.ns, 0)) / since_s, spent
            level = logging.WARNING if upstream.phase is Phase.LOST else logging.INFO
            log.log(level, "%s", standing(upstream, self._epoch_ms(), rate))


def cost(upstream: CollectedServer) -> str:
    """What a round of all topics costs, if the name server answers as fast as it may be asked, and how exact times are
    therefore."""
    known = f"{upstream.ns} ({upstream.addr}): times of brokers are known to {shown(upstream.interval_s)}"
    if not upstream.lists_topics:
        return f"{known}; it does not list its topics"
    topics, per_second = len(upstream.rounds.seen), upstream.budget.per_second
    takes_s = max(upstream.interval_s, topics / (per_second - upstream.schedule.per_second))
    return f"{known}, those of its {topics} topics to {shown(takes_s)}: a round takes as long at {per_second:g}/s"


def standing(upstream: CollectedServer, now_ms: int, requests_per_second: float) -> str:
    """How a name server is, in one line."""
    tables, rounds = upstream.observed.tables, upstream.rounds
    last = f", the last took {shown(rounds.last_s)}" if rounds.last_s is not None else ""
    known = f"{len(rounds.seen)} topics; round {rounds.count}{last}"
    topics = known if upstream.lists_topics else "its topics are not known (enableAllTopicList=false)"
    parts = [
        f"{_phase(upstream)} for {shown((now_ms - upstream.since_ms) / 1000)}",
        f"{len(tables.broker_addr_table)} brokers, {topics}",
        f"{requests_per_second:.1f} requests/s of {upstream.budget.per_second:g}",
        f"{upstream.changes} changes",
    ]
    if upstream.phase is Phase.READING:
        parts.append(f"{rounds.unanswered} topics are still to be read")
    if upstream.unreadable:
        parts.append(f"{upstream.unreadable} topics with routes that cannot be read")
    if upstream.observed.left_out:
        parts.append(f"{upstream.observed.left_out} things beyond a limit left out")
    if upstream.error:
        parts.append(upstream.error)
    return f"{upstream.ns} ({upstream.addr}): {'; '.join(parts)}"


def _phase(upstream: CollectedServer) -> str:
    return "being read" if upstream.phase in (Phase.READING, Phase.RETURNING) else str(upstream.phase)

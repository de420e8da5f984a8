"""Invariants (a), (b) and (c): who is in the routes, who is not, and why somebody left."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.routeinfo.events import BrokerDown, BrokerHeartbeat, BrokerRefused, BrokerRegistered, Cause, Event
from tests.simulation.broker import REGISTER_WITHIN_US, Broker, Said
from tests.simulation.nameserver import NameServer, NameServerProcess
from tests.simulation.network import AGAIN_WITHIN_US, Network
from tests.simulation.world import Violation, World

Pair = tuple[str, str]
# After this time everything has arrived that was on its way when a link was mended or became fast again.
DRAINED_US = AGAIN_WITHIN_US + 100_000
NEVER = 1 << 60


class Paths:
    """``update`` is called after everything that may open or close a path.

    ``since`` is when a path opened, `NEVER` while it is closed: both processes run and the link carries. ``closed`` is
    when it closed last. ``drained`` is from when on nothing is on its way that was sent before it opened.
    """

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker]
    ) -> None:
        self._world, self._network = world, network
        self._servers, self._brokers = servers, brokers
        self._hosts: dict[Pair, set[str]] = {}
        self._slow_us: dict[Pair, int] = {}
        self._drains: dict[Pair, int] = {}
        self._carried: dict[Pair, bool] = {}
        self._runs: dict[Pair, tuple[object, object]] = {}
        self.since: dict[Pair, int] = {}
        self.closed: dict[Pair, int] = {}
        for broker in brokers:
            for server in servers:
                pair = self.pair(broker, server)
                self.since[pair], self.closed[pair], self._hosts[pair] = NEVER, 0, set()

    @staticmethod
    def pair(broker: Broker, server: NameServer) -> Pair:
        return f"{broker.name}[{broker.broker_id}]", server.name

    def update(self) -> None:
        now_us = self._world.now_us
        for broker in self._brokers:
            for server in self._servers:
                pair = self.pair(broker, server)
                self._note_drain(pair, broker, server)
                runs = (broker.process, server.process)
                is_open = self._is_open(broker, server)
                if self.since[pair] != NEVER and (not is_open or self._runs.get(pair) != runs):
                    self.since[pair], self.closed[pair] = NEVER, now_us
                if is_open and self.since[pair] == NEVER:
                    self.since[pair] = now_us
                self._runs[pair] = runs

    def _note_drain(self, pair: Pair, broker: Broker, server: NameServer) -> None:
        """Data of every former host of the broker may still be on its way."""
        self._hosts[pair].add(broker.host)
        links = [self._network.link(host, server.host) for host in self._hosts[pair]]
        carries = not any(link.is_cut or link.slow_us for link in links)
        if not carries:
            self._slow_us[pair] = max(self._slow_us.get(pair, 0), *(link.slow_us for link in links))
            self._drains[pair] = NEVER
        elif not self._carried.get(pair, True):
            self._drains[pair] = self._world.now_us + DRAINED_US + self._slow_us.pop(pair, 0)
        self._carried[pair] = carries

    def drained_us(self, pair: Pair) -> int:
        return self._drains.get(pair, 0)

    def _is_open(self, broker: Broker, server: NameServer) -> bool:
        link = self._network.link(broker.host, server.host)
        return (
            broker.process is not None
            and broker.is_running
            and not broker.process.is_stopped
            and not broker.process.is_leaving
            and server.process is not None
            and server.serves
            and not server.process.is_stopped
            and not link.is_cut
            and not link.slow_us
            and self._network.is_up(broker.host)
            and self._network.is_up(server.host)
        )


class RunTime:
    """Counts the time in which a process was neither stopped nor dead. ``note`` is called at each change."""

    def __init__(self, process: NameServerProcess) -> None:
        self._process = process
        self._stops: list[tuple[int, int]] = []
        self._stopped_us: int | None = None

    def note(self, now_us: int) -> None:
        if self._process.is_stopped and self._stopped_us is None:
            self._stopped_us = now_us
        elif not self._process.is_stopped and self._stopped_us is not None:
            self._stops.append((self._stopped_us, now_us))
            self._stopped_us = None

    def was_stopped(self, since_us: int, longer_than_us: int) -> bool:
        """Whether a stop that was longer than this ended since then, or goes on."""
        ended = any(end >= since_us and end - start > longer_than_us for start, end in self._stops)
        return ended or self._stopped_us is not None

    def last_stop(self, longer_than_us: int) -> tuple[int, int] | None:
        """When the last stop that was longer than this began and ended."""
        return next((stop for stop in reversed(self._stops) if stop[1] - stop[0] > longer_than_us), None)

    def ran_us(self, since_us: int, now_us: int, *, ignores_us: int = 0) -> int:
        """The part of this interval in which it ran. Stops of at most ``ignores_us`` count as running."""
        stops = [*self._stops, (self._stopped_us, now_us)] if self._stopped_us is not None else self._stops
        missed = sum(
            max(0, min(end, now_us) - max(start, since_us)) for start, end in stops if end - start > ignores_us
        )
        return max(0, now_us - since_us - missed)


SECOND_US = 1_000_000
# (a) A broker that can reach a name server is in its routes after this, whatever was before: its next registration may
# go to a connection that is dead, and the one after it arrives. A broker that asks first waits for all answers as well.
APPEARS_WITHIN_US = 65 * SECOND_US
# (a) A registration is answered within this.
ANSWERED_WITHIN_US = 2 * SECOND_US
# (b) A broker whose end the name server can learn of from the network is gone after this.
LEAVES_WITHIN_US = 2 * SECOND_US
# (b) Unless the end came in a stall of the name server or soon after, which proves nothing. Then the address is asked
# every 5 s, when everything that waited has been read.
LEAVES_AFTER_STALL_US = 20 * SECOND_US
SETTLED_AFTER_US = 11 * SECOND_US
# (b) A restored broker is asked at the start and then every 5 s, until it is heard.
ASKED_WITHIN_US = 8 * SECOND_US
# (b) Any other is gone after its time-out, the interval of the scan, and this: the wait after a stall, and slack.
AFTER_TIMEOUT_US = 13 * SECOND_US
# (c) An expiry may come this much early, because times are cut to ms.
EARLY_US = 5_000
# A shorter stop is no stall, a longer one may be: jobs run every half second, and one that is a second late is a stall.
STALL_US = 900_000
NO_STALL_US = 1_500_000
# What waited in the sockets at the end of a stall is read within this.
READ_WITHIN_US = 10_000


class Routes:
    """Judges the tables of every name server by what brokers did and what the network carried."""

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker], paths: Paths
    ) -> None:
        self._world, self._network = world, network
        self._servers, self._brokers, self._paths = servers, brokers, paths
        self._of_host: dict[str, Broker] = {}
        self._channels: dict[tuple[NameServerProcess, str], object] = {}
        self._refused: set[tuple[NameServerProcess, str]] = set()
        self._run_times: dict[NameServerProcess, RunTime] = {}

    def note(self) -> None:
        """After every fault: hosts that brokers have now, and stops of name servers."""
        for broker in self._brokers:
            self._of_host[broker.host] = broker
        for server in self._servers:
            if server.process is not None:
                self.run_time(server.process).note(self._world.now_us)

    def run_time(self, process: NameServerProcess) -> RunTime:
        found = self._run_times.get(process)
        if found is None:
            found = self._run_times[process] = RunTime(process)
        return found

    def changed(self, process: NameServerProcess, events: Sequence[Event]) -> None:
        """(c) Each removal has a reason that is younger than the registration that it undoes."""
        tables = process.controller.core.context.tables
        for event in events:
            if isinstance(event, BrokerRegistered) or (isinstance(event, BrokerHeartbeat) and event.doubt is not None):
                entry = tables.live(event.cluster, event.addr)
                self._channels[process, event.addr] = None if entry is None else entry.channel
            elif isinstance(event, BrokerRefused):  # it leaves an empty group, as in Java
                self._refused.add((process, event.broker_name))
            elif isinstance(event, BrokerDown) and event.live:
                self._judge_removal(process, event)

    def _judge_removal(self, process: NameServerProcess, event: BrokerDown) -> None:
        channel = self._channels.get((process, event.addr))
        broker = self._of_host.get(event.addr.partition(":")[0])
        where = f"{process.server.name} removed {event.broker_name}[{event.broker_id}] at {event.addr}: {event.cause}"
        if event.cause in (Cause.CHANNEL_CLOSE, Cause.CHANNEL_EXCEPTION, Cause.CHANNEL_IDLE):
            if channel is not None and channel.is_open:  # type: ignore[attr-defined]
                raise Violation(f"(c) {where}, but the connection of its last registration is open")
            if broker is not None and broker.is_running and self._ended_in_stall(process, broker):
                raise Violation(f"(c) {where}, but it ended while the name server did not run")
            if event.cause == Cause.CHANNEL_IDLE:
                self._judge_silence(process, event, process.controller.configuration.netty.idle_ms_max, where)
        elif event.cause in (Cause.EXPIRED, Cause.UNCONFIRMED):
            timeout_ms = 0 if broker is None else broker.kind.timeout_ms
            self._judge_silence(process, event, timeout_ms, where)
        elif event.cause == Cause.REFUSED:
            self._judge_refusal(broker, event.addr, where)
        elif event.cause == Cause.UNREGISTER and (broker is None or not broker.has_left):
            raise Violation(f"(c) {where}, but it never said that it leaves")

    def _ended_in_stall(self, process: NameServerProcess, broker: Broker) -> bool:
        """Whether a stall has just ended during which the broker kept running."""
        stop = self.run_time(process).last_stop(NO_STALL_US)
        return stop is not None and broker.started_us < stop[0] and self._world.now_us - stop[1] < READ_WITHIN_US

    def _judge_refusal(self, broker: Broker | None, addr: str, where: str) -> None:
        """The address refused a connection a moment ago, so no broker has accepted any there for a while."""
        if broker is None or not broker.is_running or broker.addr != addr:
            return
        if self._world.now_us - broker.started_us > SECOND_US:
            raise Violation(f"(c) {where}, but it accepts connections since {broker.started_us / 1e6} s")

    def _judge_silence(self, process: NameServerProcess, event: BrokerDown, limit_ms: int, where: str) -> None:
        heard_us = self._network.heard.get((process.server.host, event.addr.partition(":")[0]), 0)
        if heard_us < process.started_us:  # it was restored, and not heard since
            heard_us = process.started_us
            if event.cause == Cause.UNCONFIRMED:
                limit_ms = process.controller.configuration.restore.confirm_seconds * 1000
        silent_us = self.run_time(process).ran_us(heard_us, self._world.now_us, ignores_us=NO_STALL_US)
        if silent_us < limit_ms * 1000 - EARLY_US:
            raise Violation(f"(c) {where}, but it was heard {silent_us / 1e6} s of running time before")

    def check(self, server: NameServer) -> None:
        """(a) and (b), for one name server that serves."""
        process = server.process
        if process is None or not server.serves or process.is_stopped:
            return
        for broker in self._brokers:
            self._check_present(server, broker)
        tables = process.controller.core.context.tables
        for name, group in tables.broker_addr_table.items():
            if not group.broker_addrs and (process, name) not in self._refused:
                raise Violation(f"(b) the group {name} of {server.name} has no member left, and is still there")
            for broker_id, addr in group.broker_addrs.items():
                self._check_gone(process, name, broker_id, addr)
        for topic, queues in tables.topic_queue_table.items():
            if not queues.keys() <= tables.broker_addr_table.keys():
                raise Violation(f"(b) {topic} of {server.name} has queues of {set(queues)}, which are no groups")

    def _check_present(self, server: NameServer, broker: Broker) -> None:
        pair = self._paths.pair(broker, server)
        since_us = self._paths.since[pair]
        if since_us == NEVER:
            return
        now_us = self._world.now_us
        self._check_answered(server, broker, since_us)
        accepted = broker.standings[server.name].accepted
        safe_us = max(since_us, self._paths.drained_us(pair))
        if accepted is not None and accepted.sent_us >= safe_us:
            self._expect(server, broker, accepted, f"its registration was answered at {accepted.answered_us} us")
        elif now_us - safe_us > APPEARS_WITHIN_US + (REGISTER_WITHIN_US if broker.kind.asks_first else 0):
            self._expect(server, broker, None, f"it can reach {server.name} since {safe_us / 1e6} s")

    def _check_answered(self, server: NameServer, broker: Broker, since_us: int) -> None:
        """(a) A registration over a path that carries is answered soon."""
        for said in broker.standings[server.name].sent:
            waited_us = self._world.now_us - said.sent_us
            if said.sent_us >= since_us and waited_us > ANSWERED_WITHIN_US and said.is_waiting:
                raise Violation(f"(a) {server.name} does not answer the registration of {broker.label}")

    def _expect(self, server: NameServer, broker: Broker, said: Said | None, why: str) -> None:
        assert server.process is not None
        tables = server.process.controller.core.context.tables
        group = tables.broker_addr_table.get(broker.name)
        if group is None or group.broker_addrs.get(broker.broker_id) != broker.addr:
            raise Violation(f"(a) {broker.label} is not in the routes of {server.name}, though {why}")
        if tables.live(broker.cluster, broker.addr) is None:
            raise Violation(f"(a) {broker.label} is not live on {server.name}, though {why}")
        if said is not None and broker.broker_id == 0:
            self._expect_topics(server, broker, said)

    def _expect_topics(self, server: NameServer, broker: Broker, said: Said) -> None:
        """The last answered registration, or a later one that is not answered yet."""
        assert server.process is not None
        controller = server.process.controller
        table, config = controller.core.context.tables.topic_queue_table, controller.configuration.namesrv
        later = [one.topics for one in broker.standings[server.name].sent if one.sent_us >= said.sent_us]
        for topic, queues in said.topics.items():
            allowed = [queues, *(one.get(topic) for one in later)]
            if not config.delete_topic_with_broker_registration:  # a later registration without it takes it away
                allowed = [one for one in allowed if one is not None]
            data = table.get(topic, {}).get(broker.name)
            shown = None if data is None else (data.read_queue_nums, data.write_queue_nums, data.perm)
            if shown not in allowed:
                raise Violation(f"(a) {topic} of {broker.label} is {shown} on {server.name}, registered {allowed}")

    def _check_gone(self, process: NameServerProcess, name: str, broker_id: int, addr: str) -> None:
        """(b) A member that is no living broker of this address leaves in time."""
        host = addr.partition(":")[0]
        broker = self._of_host.get(host)
        if broker is None:
            raise Violation(f"(b) {name}[{broker_id}] at {addr} is in the routes of {process.name}, nobody ever had it")
        if broker.is_running and broker.host == host:
            return
        link = self._network.link(host, process.server.host)
        now_us, run_time = self._world.now_us, self.run_time(process)
        heard_us = max(self._network.heard.get((process.server.host, host), 0), process.started_us)
        started_us, ended_us, is_silent = broker.ends[host]
        never_met = heard_us < started_us  # what it heard was an earlier process, which may have vanished
        if not link.is_cut and not link.slow_us and not is_silent and not never_met:
            open_us = max(ended_us, self._paths.drained_us(self._paths.pair(broker, process.server)))
            in_stall = run_time.was_stopped(open_us - SETTLED_AFTER_US, STALL_US)
            within_us = LEAVES_AFTER_STALL_US if in_stall else LEAVES_WITHIN_US
            if self._is_restored(process, host):
                within_us = max(within_us, ASKED_WITHIN_US)
            if run_time.ran_us(max(open_us, heard_us), now_us) > within_us:
                raise Violation(f"(b) {addr} ended at {ended_us / 1e6} s and is still in {process.name}")
        elif run_time.ran_us(heard_us, now_us) > self._limit_us(process, broker, host):
            raise Violation(f"(b) {addr} was last heard at {heard_us / 1e6} s and is still in {process.name}")

    def _is_restored(self, process: NameServerProcess, host: str) -> bool:
        """Whether this process has heard nothing of the host yet."""
        return self._network.heard.get((process.server.host, host), 0) < process.started_us

    def _limit_us(self, process: NameServerProcess, broker: Broker, host: str) -> int:
        restore = process.controller.configuration.restore
        seconds = broker.kind.timeout_ms // 1000
        if self._is_restored(process, host):  # or it was heard from a socket that waited for the process
            seconds = max(seconds, restore.confirm_seconds)
        if restore.mass_expiry_percent:
            seconds += restore.mass_expiry_seconds
        interval_ms = process.controller.configuration.namesrv.scan_not_active_broker_interval
        return seconds * SECOND_US + AFTER_TIMEOUT_US + interval_ms * 1000

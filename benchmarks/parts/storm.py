"""The latency of route lookups while brokers with 10,000 topics register."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import Popen

from benchmarks.bench import Bench, add_delays, having
from benchmarks.loading.brokers import Brokers, Shape, send
from benchmarks.loading.load import Paced, finish_paced, start_paced
from benchmarks.loading.registrations import broker_host, broker_name, plain_body, registration
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, MANY_TOPICS, Plan
from benchmarks.record import Cell, Record
from benchmarks.servers.cores import apart, pin
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST
from benchmarks.servers.process import cpu_s, settle
from benchmarks.servers.running import Server
from benchmarks.warm import is_warm, said, warm_lookups

BROKERS, VERSIONS, CHANGED_EVERY = 10, 3, 100
# Lookups a second, as of 6,000 clients with 10 topics: enough for a p99, too few to load a core by themselves.
LOOKUP_RATE = 2000
# What the Java server accepted in a storm without pause on two cores. Servers are compared at this rate.
JAVAS_RATE = 99.0
SHAPE = Shape(BROKERS, MANY_TOPICS, BROKERS)
RATIO, RATIO_SENT = "storm p99 / quiet p99", "storm p99 / quiet p99, from sent"
PLACES = {"any core": False, "server and lookups on one core, brokers on another": True}
QUIET, AT_JAVAS_RATE, FULL_RATE = "quiet", f"{JAVAS_RATE:g} registrations a second", "registrations without pause"
RATES = {QUIET: 0.0, AT_JAVAS_RATE: JAVAS_RATE, FULL_RATE: float("inf")}


def name(rate: str, place: str) -> str:
    """The row of a cell."""
    return f"route lookup, {rate}, {place}"


ANYWHERE, PINNED = PLACES


@dataclass(frozen=True)
class Storm:
    """All brokers' registrations in several versions. ``turn`` counts the registrations sent so far."""

    frames: list[list[bytes]]
    turn: Iterator[int]

    @classmethod
    def make(cls) -> Storm:
        return cls([[_frame(broker, version) for broker in range(BROKERS)] for version in range(VERSIONS)],
                   itertools.count())  # fmt: skip

    def register(self, brokers: Brokers) -> float:
        """Send the next broker's registration; the server's CPU seconds."""
        count = next(self.turn)
        frame = self.frames[count // BROKERS % VERSIONS][count % BROKERS]
        return send(brokers.server, brokers.clients[count % BROKERS], frame).cpu_s


def _frame(broker: int, version: int) -> bytes:
    changed = frozenset(range(version, MANY_TOPICS, CHANGED_EVERY))
    return registration(
        broker_name(broker), broker_host(broker), plain_body(range(MANY_TOPICS), 100 + version, changed)
    )


def run(bench: Bench, record: Record) -> None:
    """In each round every server is measured quiet, at Java's rate and at full rate: on any core, then pinned."""
    plan = bench.plan
    bench.say("making the registrations")
    storm = Storm.make()
    with bench.registered(record, (DEFAULT, *JAVAS, RUST), SHAPE) as found:
        servers = having(found)
        warm_lookups(bench, record, servers, MANY_TOPICS)
        for server in servers:
            bench.say(f"warming up {server.kind.label}, registrations")
            with record.cell(server.kind.key, 0, name(AT_JAVAS_RATE, ANYWHERE)):
                _warm(plan, record, found[server.kind.key], storm)
        for number, order in bench.turns(record, plan.storm_rounds, servers):
            for place, pinned in PLACES.items():
                with apart(servers) if pinned else contextlib.nullcontext() as core:
                    for server in order:
                        bench.say(f"round {number + 1} of {plan.storm_rounds}: {server.kind.label}, {place}")
                        _measure(record, number, found, server, storm, place, core, plan.storm_s)


def _warm(plan: Plan, record: Record, brokers: Brokers, storm: Storm) -> None:
    costs: list[float] = []
    most = 4 * plan.warm_up_registration_rounds if brokers.server.kind.compiles_itself else 1
    while len(costs) < most and not is_warm(costs):
        costs.append(sum(storm.register(brokers) for _ in range(BROKERS)) * 1e3 / BROKERS)
    if brokers.server.kind.compiles_itself:
        record.note(said(brokers.server.kind.label, "registrations", costs, "CPU ms a registration"))


def _measure(record: Record, number: int, found: dict[str, Brokers], server: Server, storm: Storm, place: str,
             core: int | None, seconds: float) -> None:  # fmt: skip
    """One server, quiet and in both storms."""
    quiet: Paced | None = None
    for rate in RATES:
        what = name(rate, place)
        if record.is_hopeless(server.kind.key, what):
            return
        for brokers in found.values():
            settle(brokers.server.pid)  # wait until the server has worked off its last storm
        with record.cell(server.kind.key, number, what) as cell:
            brokers = found[server.kind.key]
            server.check_alive()
            brokers.keep_alive()
            paced = _one(cell, brokers, storm, rate, seconds, core)
            if quiet:
                cell.add(RATIO, paced.p99_us / quiet.p99_us)
                cell.add(RATIO_SENT, paced.sent_p99_us / quiet.sent_p99_us)
            quiet = quiet or paced


def _one(cell: Cell, brokers: Brokers, storm: Storm, rate: str, seconds: float, core: int | None) -> Paced:
    if rate != QUIET:
        storm.register(brokers)  # the storm is there when the lookups begin
    server, cpu, began = brokers.server, cpu_s(brokers.server.pid), time.perf_counter()
    load = start_paced(server, connections=FEW, rate=LOOKUP_RATE, topics=MANY_TOPICS, seconds=seconds)
    pin(load.pid, core)
    registrations = 0
    try:
        if rate == QUIET:
            load.wait()
        else:
            registrations = _register_while(load, brokers, storm, RATES[rate])
    finally:
        paced = finish_paced(server, load)
    took = time.perf_counter() - began
    _add(cell, paced, (cpu_s(server.pid) - cpu) / took)
    if rate != QUIET:
        cell.add("registrations/s", registrations / took)
    return paced


def _register_while(load: Popen[str], brokers: Brokers, storm: Storm, rate: float) -> int:
    """Send registrations at a rate, one at a time, until the lookups are over. Late ones are not skipped. How many."""
    began, count = time.perf_counter(), 0
    while load.poll() is None:
        ahead = began + count / rate - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        storm.register(brokers)
        count += 1
    return count


def _add(cell: Cell, load: Paced, cores: float) -> None:
    cell.add("requests/s", load.per_second)
    cell.add("p50 µs", load.p50_us)
    cell.add("p99 µs", load.p99_us)
    cell.add("p99.9 µs", load.p999_us)
    add_delays(cell, load)
    cell.add("cores busy in the server", cores)


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers with the same {MANY_TOPICS:,} topics. {LOOKUP_RATE:,} lookups a second in an open loop "
        f"over {FEW} connections for {plan.storm_s:g} s; latencies count from the time a lookup was due. First "
        f"with nothing else going on, then while the brokers register one after the other {JAVAS_RATE:g} times a "
        "second (a slower server gets as many as it accepts; see registrations/s), then without pause, "
        f"each time with a new data version and {200 // CHANGED_EVERY} % of its topics changed. All of this is done "
        "twice: first every process runs on any core, then the brokers have the last core to themselves, and server "
        "and lookups share the first. No process has a raised priority. CPU is that of the whole server, in busy "
        "cores, because it serves both. A ratio is of one round of one server. It is given for latencies from the time "
        "a lookup was due, and from the time it was sent, which leaves out the load generator's wait for a core."
    )


PART = Part("storm", "Latency during registrations", method, run)

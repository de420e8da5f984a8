"""What clients wait for routes while brokers with very many topics register."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import Popen

from benchmarks.bench import Bench, add_delays, failing, having
from benchmarks.cores import apart, pin
from benchmarks.brokers import Fleet, Shape, fleets, send
from benchmarks.kinds import DEFAULT, JAVAS, RUST
from benchmarks.load import Paced, finish_paced, start_paced
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, MANY_TOPICS, Plan
from benchmarks.process import cpu_s, settle
from benchmarks.record import Cell, Record
from benchmarks.registrations import broker_host, broker_name, plain_body, registration
from benchmarks.running import Needs, Server, running
from benchmarks.warm import is_warm, said, warm_lookups

BROKERS, VERSIONS, CHANGED_EVERY = 10, 3, 100
# Lookups a second: those of 6,000 clients with 10 topics. Many enough for a p99, too few to load a core by themselves.
LOOKUP_RATE = 2000
# What the Java server took in a storm without pause on two cores: the rate at which servers are compared.
JAVAS_RATE = 99.0
SHAPE = Shape(BROKERS, MANY_TOPICS, BROKERS)
RATIO, RATIO_SENT = "storm p99 / quiet p99", "storm p99 / quiet p99, from sent"
PLACES = {"any core": False, "server and lookups on one core, brokers on another": True}
QUIET, AT_JAVAS_RATE, FULL_RATE = "quiet", f"{JAVAS_RATE:g} registrations a second", "registrations without pause"
RATES = {QUIET: 0.0, AT_JAVAS_RATE: JAVAS_RATE, FULL_RATE: float("inf")}


def name(rate: str, place: str) -> str:
    """What a cell is called in the tables."""
    return f"route lookup, {rate}, {place}"


ANYWHERE, PINNED = PLACES


@dataclass(frozen=True)
class Storm:
    """All brokers' registrations, in some versions, and where the brokers are in them."""

    frames: list[list[bytes]]
    turn: Iterator[int]

    @classmethod
    def make(cls) -> Storm:
        return cls([[_frame(broker, version) for broker in range(BROKERS)] for version in range(VERSIONS)],
                   itertools.count())  # fmt: skip

    def register(self, fleet: Fleet) -> float:
        """The next broker's registration; CPU seconds of the server."""
        count = next(self.turn)
        frame = self.frames[count // BROKERS % VERSIONS][count % BROKERS]
        return send(fleet.server, fleet.clients[count % BROKERS], frame).cpu_s


def _frame(broker: int, version: int) -> bytes:
    changed = frozenset(range(version, MANY_TOPICS, CHANGED_EVERY))
    return registration(
        broker_name(broker), broker_host(broker), plain_body(range(MANY_TOPICS), 100 + version, changed)
    )


def run(bench: Bench, record: Record) -> None:
    """In each round every server is measured quiet, at Java's rate and at full rate; on any core, then pinned."""
    plan = bench.plan
    bench.say("making the registrations")
    storm, kinds = Storm.make(), bench.choose(DEFAULT, *JAVAS, RUST)
    with (
        running(kinds, bench.folder, Needs(), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
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


def _warm(plan: Plan, record: Record, fleet: Fleet, storm: Storm) -> None:
    costs: list[float] = []
    most = 4 * plan.warm_up_registration_rounds if fleet.server.kind.compiles_itself else 1
    while len(costs) < most and not is_warm(costs):
        costs.append(sum(storm.register(fleet) for _ in range(BROKERS)) * 1e3 / BROKERS)
    if fleet.server.kind.compiles_itself:
        record.note(said(fleet.server.kind.label, "registrations", costs, "CPU ms a registration"))


def _measure(record: Record, number: int, found: dict[str, Fleet], server: Server, storm: Storm, place: str,
             core: int | None, seconds: float) -> None:  # fmt: skip
    """One server, quiet and in both storms."""
    quiet: Paced | None = None
    for rate in RATES:
        what = name(rate, place)
        if record.is_hopeless(server.kind.key, what):
            return
        for fleet in found.values():
            settle(fleet.server.pid)  # what it still does of its own storm would be this one's
        with record.cell(server.kind.key, number, what) as cell:
            fleet = found[server.kind.key]
            server.check_alive()
            fleet.keep_alive()
            paced = _one(cell, fleet, storm, rate, seconds, core)
            if quiet:
                cell.add(RATIO, paced.p99_us / quiet.p99_us)
                cell.add(RATIO_SENT, paced.sent_p99_us / quiet.sent_p99_us)
            quiet = quiet or paced


def _one(cell: Cell, fleet: Fleet, storm: Storm, rate: str, seconds: float, core: int | None) -> Paced:
    if rate != QUIET:
        storm.register(fleet)  # the storm is there when the lookups begin
    server, cpu, began = fleet.server, cpu_s(fleet.server.pid), time.perf_counter()
    load = start_paced(server, connections=FEW, rate=LOOKUP_RATE, topics=MANY_TOPICS, seconds=seconds)
    pin(load.pid, core)
    registrations = 0
    try:
        if rate == QUIET:
            load.wait()
        else:
            registrations = _register_while(load, fleet, storm, RATES[rate])
    finally:
        paced = finish_paced(server, load)
    took = time.perf_counter() - began
    _add(cell, paced, (cpu_s(server.pid) - cpu) / took)
    if rate != QUIET:
        cell.add("registrations/s", registrations / took)
    return paced


def _register_while(load: Popen[str], fleet: Fleet, storm: Storm, rate: float) -> int:
    """Registrations at a rate, one at a time, until the lookups are over; how many. One that is late is not skipped."""
    began, count = time.perf_counter(), 0
    while load.poll() is None:
        ahead = began + count / rate - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        storm.register(fleet)
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
        "second (a server that cannot take as many gets what it takes; see registrations/s), then without pause, "
        f"each time with a new data version and {200 // CHANGED_EVERY} % of its topics changed. All that twice: "
        "first every process runs where the system puts it, then the brokers have the last core to themselves, "
        "and server and lookups the first. No process has a raised priority. CPU is that of the whole server as "
        "busy cores, for it does both. A ratio is of one round of one server; it is given for latencies counted from "
        "when a lookup was due and from when it was sent, which leaves the load generator's wait for a core out."
    )


PART = Part("storm", "Latency during registrations", method, run)

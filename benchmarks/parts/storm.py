"""What a client waits for a route while brokers with very many topics register without pause."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator

from benchmarks.bench import Bench, failing, having
from benchmarks.cores import apart, pin
from benchmarks.fleet import Fleet, Shape, fleets, send
from benchmarks.kinds import ASYNCIO, JAVA, REACTORS_2, RUST
from benchmarks.load import Probe, probed, start_probe
from benchmarks.parts.part import Part
from benchmarks.plan import MANY_TOPICS, Plan
from benchmarks.process import settle
from benchmarks.record import Cell, Record
from benchmarks.registrations import broker_host, broker_name, plain_body, registration
from benchmarks.running import Needs, Server, running

BROKERS, VERSIONS, CHANGED_EVERY = 10, 3, 100
INTERVAL_US = 2000
SHAPE = Shape(BROKERS, MANY_TOPICS, BROKERS)
QUIET, STORM = "route latency, quiet", f"route latency, registrations of {MANY_TOPICS:,} topics without pause"
RATIO = "storm p99 / quiet p99"


def run(bench: Bench, record: Record) -> None:
    """In each round every server is measured quiet, then in the storm."""
    plan = bench.plan
    bench.say("making the registrations")
    frames = [[_frame(broker, version) for broker in range(BROKERS)] for version in range(VERSIONS)]
    kinds = bench.reactors_and(JAVA, RUST)
    with (
        running(kinds, bench.folder, Needs(), record.failed) as all_servers,
        apart() as core,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers, turn = having(all_servers, found), itertools.count()
        bench.warm_up(servers, MANY_TOPICS)
        for server in servers:
            pin(server.pid, core)
        for number, order in bench.turns(record, plan.storm_rounds, servers):
            for server in order:
                bench.say(f"round {number + 1} of {plan.storm_rounds}: {server.kind.label}, quiet and in the storm")
                fleet, key = found[server.kind.key], server.kind.key
                if not record.is_hopeless(key, QUIET) and not record.is_hopeless(key, STORM):
                    for other in servers:
                        settle(other.pid)  # what it still does of its own storm would be this one's
                    with record.cell(key, number, QUIET) as quiet:
                        quiet_p99 = _quiet(quiet, server, fleet, plan.storm_s, core)
                        with record.cell(key, number, STORM) as storm:
                            _storm(storm, server, _registering(fleet, frames, turn), plan.storm_s, quiet_p99, core)


def _frame(broker: int, version: int) -> bytes:
    changed = frozenset(range(version, MANY_TOPICS, CHANGED_EVERY))
    return registration(
        broker_name(broker), broker_host(broker), plain_body(range(MANY_TOPICS), 100 + version, changed)
    )


def _quiet(cell: Cell, server: Server, fleet: Fleet, seconds: float, core: int | None) -> float:
    server.check_alive()
    fleet.keep_alive()
    settle(server.pid)
    probe = probed(server, _probing(server, seconds, core))
    _latencies(cell, probe)
    return probe.p99_us


def _storm(
    cell: Cell, server: Server, registering: Iterator[None], seconds: float, quiet_p99: float, core: int | None
) -> None:
    next(registering)  # it is raining when the probe begins
    running_probe = _probing(server, seconds, core)
    registrations = 0
    try:
        while running_probe.poll() is None:
            next(registering)
            registrations += 1
    finally:
        probe = probed(server, running_probe)
    _latencies(cell, probe)
    cell.add(RATIO, probe.p99_us / quiet_p99)
    cell.add("registrations/s", registrations / seconds)


def _probing(server: Server, seconds: float, core: int | None) -> subprocess.Popen[str]:
    probe = start_probe(server, topics=MANY_TOPICS, seconds=seconds, interval_us=INTERVAL_US)
    pin(probe.pid, core)
    return probe


def _registering(fleet: Fleet, frames: list[list[bytes]], turn: Iterator[int]) -> Iterator[None]:
    """One registration after the other, all brokers in turn, each time with another version."""
    for count in turn:
        version = frames[count // BROKERS % VERSIONS]
        send(fleet.server, fleet.clients[count % BROKERS], version[count % BROKERS])
        yield


def _latencies(cell: Cell, probe: Probe) -> None:
    cell.add("p50 µs", probe.p50_us)
    cell.add("p99 µs", probe.p99_us)
    cell.add("p99.9 µs", probe.p999_us)
    if not probe.raised:
        cell.record.note("The latency probe ran without a raised priority: its own wait for a core is in the figures.")


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers with the same {MANY_TOPICS:,} topics. One connection asks for a random topic every "
        f"{INTERVAL_US / 1000:g} ms for {plan.storm_s:g} s, with a raised priority where that is allowed, first with "
        "nothing else going on, then while the brokers register one after the other without pause, each time with a "
        f"new data version and {200 // CHANGED_EVERY} % of its topics changed. The brokers have the last core to "
        "themselves, server and probe are kept to the first: else a thread of the server is woken on the core where a "
        "broker's send is under way in the kernel, and waits for its end, which brokers elsewhere can't cause. A ratio "
        "is of one round of one server."
    )


def expected_s(plan: Plan) -> float:
    """For the display."""
    return 20 + plan.warm_up_s + plan.storm_rounds * 4 * (2 * plan.storm_s + 0.3)


PART = Part("storm", "Latency during registrations", (REACTORS_2, ASYNCIO), method, expected_s, run)

"""Very many brokers that all have the same topics: what it costs to take them all, and to answer with all of them."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having, measure_lookups
from benchmarks.fleet import Fleet, Shape, fleets
from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, RUST
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, MANY_TOPICS, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record
from benchmarks.running import Needs, Server, running

# A third of it is used; less makes the collector work more.
JAVA_HEAP_MB = 3000


def registering(brokers: int) -> str:
    """What it is called in the tables to take all registrations."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: registering all"


def lookup(brokers: int) -> str:
    """What the lookups are called."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: route lookup, {FEW} connections, 1 outstanding"


def registered(brokers: int) -> str:
    """What memory is called after the registrations."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: resident memory"


def asked(brokers: int) -> str:
    """What memory is called after the lookups, too."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: resident memory after the lookups"


def run(bench: Bench, record: Record) -> None:
    """Register all with each server, then lookups in turns."""
    plan, what = bench.plan, lookup(bench.plan.wide_brokers)
    shape = Shape(plan.wide_brokers, MANY_TOPICS, plan.wide_brokers)
    kinds = bench.reactors_and(JAVA, RUST, LEAST)
    bench.say(f"{plan.wide_brokers} brokers with {MANY_TOPICS:,} topics: registering with {len(kinds)} servers")
    with (
        running(kinds, bench.folder, Needs(shape.body(), JAVA_HEAP_MB), record.failed) as all_servers,
        fleets(all_servers, shape, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        for server in servers:
            _registered(record, server, found[server.kind.key], plan.wide_brokers)
        bench.warm_up(servers, MANY_TOPICS)
        for number, order in bench.turns(record, plan.growing_rounds, servers):
            bench.say(f"round {number + 1} of {plan.growing_rounds}: {what}")
            for server in order:
                key = server.kind.key
                if not record.is_hopeless(key, what):
                    with record.cell(key, number, what) as cell:
                        measure_lookups(cell, server, found[key], connections=FEW, depth=1, encoding="json",
                                        topics=MANY_TOPICS, seconds=plan.route_s)  # fmt: skip
        for server in servers:
            with record.cell(server.kind.key, 0, asked(plan.wide_brokers)) as cell:
                cell.add("MB", resident_mb(server.pid))


def _registered(record: Record, server: Server, fleet: Fleet, brokers: int) -> None:
    with record.cell(server.kind.key, 0, registering(brokers)) as cell:
        cell.add("CPU s", fleet.cpu_s)
        cell.add("s", fleet.took_s)
    with record.cell(server.kind.key, 0, registered(brokers)) as cell:
        cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{plan.wide_brokers} brokers, each with the same {MANY_TOPICS:,} topics "
        f"({plan.wide_brokers * MANY_TOPICS:,} entries), registered once, one after the other; a server that needs "
        f"more than {plan.register_s:g} s for it is left out. Then lookups as above; an answer names all "
        f"{plan.wide_brokers} brokers. Java has -Xmx{JAVA_HEAP_MB}m here, for its tables do not fit into its heap of "
        "the other parts."
    )


def expected_s(plan: Plan) -> float:
    """For the display."""
    return 15 + plan.warm_up_s + plan.register_s + plan.wide_brokers * 0.25 + plan.growing_rounds * 5 * 1.3


PART = Part("wide", "Many brokers with the same topics", (REACTORS_2, ASYNCIO), method, expected_s, run)

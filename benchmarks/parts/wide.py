"""Very many brokers that all have the same topics: what it costs to take them all, and to answer with all of them."""

from __future__ import annotations

import contextlib

from benchmarks.bench import Bench, failing, having, measure_lookups
from benchmarks.brokers import Fleet, Shape, fleets
from benchmarks.kinds import DEFAULT, JAVAS, REACTORS_1, RUST, C
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, MANY_TOPICS, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record, quantile
from benchmarks.running import Needs, Server, running
from benchmarks.warm import warm_lookups, warm_registrations

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
    kinds = bench.choose(DEFAULT, REACTORS_1, *JAVAS, RUST, C)
    bench.say(f"{plan.wide_brokers} brokers with {MANY_TOPICS:,} topics: registering with {len(kinds)} servers")
    with contextlib.ExitStack() as stack:
        needs = Needs(shape.body(), JAVA_HEAP_MB)
        all_servers = stack.enter_context(running(kinds, bench.folder, needs, record.failed))
        warm_registrations(bench, record, all_servers, MANY_TOPICS)
        found = stack.enter_context(fleets(all_servers, shape, plan.register_s, failing(record)))
        servers = having(all_servers, found)
        for server in servers:
            _registered(record, server, found[server.kind.key], plan.wide_brokers)
        warm_lookups(bench, record, servers, MANY_TOPICS)
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
        cell.add("registrations/s", brokers / fleet.took_s)
        cell.add("p50 ms", quantile(fleet.waits_s, 0.5) * 1e3)
        cell.add("p99 ms", quantile(fleet.waits_s, 0.99) * 1e3)
        cell.add("CPU ms", fleet.cpu_s * 1e3 / brokers)
        cell.add("CPU s", fleet.cpu_s)
    with record.cell(server.kind.key, 0, registered(brokers)) as cell:
        cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{plan.wide_brokers} brokers, each with the same {MANY_TOPICS:,} topics "
        f"({plan.wide_brokers * MANY_TOPICS:,} entries), registered once, one after the other; a server that needs "
        f"more than {plan.register_s:g} s for it is left out. Then lookups in a closed loop; an answer names all "
        f"{plan.wide_brokers} brokers. Both small heaps of Java have -Xmx{JAVA_HEAP_MB}m here, for its tables do not "
        f"fit into 512 MB. Registrations are warmed with one broker of {MANY_TOPICS:,} topics."
    )


PART = Part("wide", "Many brokers with the same topics", method, run)

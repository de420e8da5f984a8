"""Very many brokers with the same topics: the cost of their registrations, and of answers that name all of them."""

from __future__ import annotations

import contextlib
from functools import partial

from benchmarks.bench import Bench, add_memory, failing, having, measure_lookups
from benchmarks.loading.brokers import Brokers, Shape, with_brokers
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, MANY_TOPICS, Plan
from benchmarks.record import Record, quantile
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.servers.running import Needs, running
from benchmarks.warm import warm_lookups, warm_registrations

# Java uses a third of it; with less its collector works more.
JAVA_HEAP_MB = 3000


def registering(brokers: int) -> str:
    """The row of all registrations."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: registering all"


def lookup(brokers: int) -> str:
    """The row of the lookups."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: route lookup, {FEW} connections, 1 outstanding"


def registered(brokers: int) -> str:
    """The row of memory after the registrations."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: resident memory"


def asked(brokers: int) -> str:
    """The row of memory after the lookups."""
    return f"{brokers} brokers with {MANY_TOPICS:,} topics: resident memory after the lookups"


def run(bench: Bench, record: Record) -> None:
    """Register all brokers with each server; then measure lookups in turns."""
    plan = bench.plan
    shape = Shape(plan.wide_brokers, MANY_TOPICS, plan.wide_brokers)
    kinds = bench.choose(DEFAULT, *JAVAS, RUST, C)
    bench.say(f"{plan.wide_brokers} brokers with {MANY_TOPICS:,} topics: registering with {len(kinds)} servers")
    with contextlib.ExitStack() as stack:
        needs = Needs(shape.body(), JAVA_HEAP_MB)
        all_servers = stack.enter_context(running(kinds, bench.folder, needs, record.failed))
        warm_registrations(bench, record, all_servers, MANY_TOPICS)
        found = stack.enter_context(with_brokers(all_servers, shape, plan.register_s, failing(record)))
        servers = having(found)
        for server in servers:
            _add_registrations(record, found[server.kind.key], plan.wide_brokers)
        warm_lookups(bench, record, servers, MANY_TOPICS)
        measure = partial(measure_lookups, connections=FEW, depth=1, encoding="json", topics=MANY_TOPICS,
                          seconds=plan.route_s)  # fmt: skip
        bench.measure(record, plan.growing_rounds, found, {lookup(plan.wide_brokers): measure})
        add_memory(record, servers, asked(plan.wide_brokers))


def _add_registrations(record: Record, brokers: Brokers, count: int) -> None:
    with record.cell(brokers.server.kind.key, 0, registering(count)) as cell:
        cell.add("registrations/s", count / brokers.took_s)
        cell.add("p50 ms", quantile(brokers.waits_s, 0.5) * 1e3)
        cell.add("p99 ms", quantile(brokers.waits_s, 0.99) * 1e3)
        cell.add("CPU ms", brokers.cpu_s * 1e3 / count)
        cell.add("CPU s", brokers.cpu_s)
    add_memory(record, [brokers.server], registered(count))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{plan.wide_brokers} brokers, each with the same {MANY_TOPICS:,} topics "
        f"({plan.wide_brokers * MANY_TOPICS:,} entries), registered once, one after the other. A server that needs "
        f"more than {plan.register_s:g} s for it is left out. Then lookups run in a closed loop; an answer names all "
        f"{plan.wide_brokers} brokers. Both small heaps of Java have -Xmx{JAVA_HEAP_MB}m here, because its tables do "
        f"not fit into 512 MB. The warm-up of registrations uses one broker of {MANY_TOPICS:,} topics."
    )


PART = Part("wide", "Many brokers with the same topics", method, run)

"""The cost of lookups and registrations, and memory, for a growing number of topics."""

from __future__ import annotations

from benchmarks.bench import Bench, add_memory, failing, having, measure_lookups
from benchmarks.loading.brokers import Brokers, Shape, register_all
from benchmarks.parts.part import Part
from benchmarks.plan import DEPTHS, FEW, Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST
from benchmarks.servers.process import settle
from benchmarks.servers.running import Needs, running
from benchmarks.warm import warm_lookups, warm_registrations

# Enough brokers that each one's share of a million topics fits into one frame (16 MiB).
BROKERS, WIDTH = 40, 2
JAVA_HEAP_MB = 4000


def lookup(topics: int, depth: int) -> str:
    """The row of lookups with so many topics."""
    return f"{topics:,} topics: route lookup, {FEW} connections, {depth} outstanding"


def registering(topics: int) -> str:
    """The row of registrations with so many topics."""
    return f"{topics:,} topics: registration, each topic of each broker"


def memory(topics: int) -> str:
    """The row of memory with so many topics."""
    return f"{topics:,} topics: resident memory"


def run(bench: Bench, record: Record) -> None:
    """The same servers at every size. At each size all brokers register again with all their topics."""
    kinds = bench.choose(DEFAULT, *JAVAS, RUST)
    needs = Needs(java_heap_mb=JAVA_HEAP_MB)
    with running(kinds, bench.folder, needs, record.failed) as servers:
        warm_registrations(bench, record, servers, bench.plan.growing_topics[0])
        found = {server.kind.key: Brokers(server) for server in servers}
        try:
            for topics in bench.plan.growing_topics:
                _grow(bench, record, found, topics)
        finally:
            for brokers in found.values():
                brokers.close()


def _grow(bench: Bench, record: Record, found: dict[str, Brokers], topics: int) -> None:
    shape, plan = Shape(BROKERS, topics, WIDTH), bench.plan
    bench.say(f"{topics:,} topics: registering")
    before = {key: brokers.cpu_s for key, brokers in found.items()}
    register_all(found, shape, plan.register_s, failing(record))
    servers = having(found)
    for server in servers:
        key = server.kind.key
        with record.cell(key, 0, registering(topics)) as cell:
            cell.add("CPU µs", (found[key].cpu_s - before[key]) * 1e6 / (topics * WIDTH))
        settle(server.pid)
    if topics == plan.growing_topics[0]:
        warm_lookups(bench, record, servers, topics)
    for number, order in bench.turns(record, plan.growing_rounds, servers):
        bench.say(f"{topics:,} topics: lookups, round {number + 1} of {plan.growing_rounds}")
        for server in order:
            for depth in DEPTHS:
                with record.cell(server.kind.key, number, lookup(topics, depth)) as cell:
                    measure_lookups(cell, found[server.kind.key], connections=FEW, depth=depth,
                                    encoding="json", topics=topics, seconds=plan.route_s)  # fmt: skip
    add_memory(record, servers, memory(topics))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers, each topic on {WIDTH} of them, JSON headers. The same servers at every size: all brokers "
        f"register again, with all their topics, in frames of up to 8 MB. A server that needs more than "
        f"{plan.register_s:g} s for one size is left out from there on. Both small heaps of Java have "
        f"-Xmx{JAVA_HEAP_MB}m here. The warm-up of registrations uses a broker of {plan.growing_topics[0]:,} topics."
    )


PART = Part("topics", "As topics grow", method, run)

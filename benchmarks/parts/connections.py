"""The cost of lookups, and memory, for a growing number of connections."""

from __future__ import annotations

from functools import partial

from benchmarks.bench import Bench, add_memory, having, measure_lookups
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import TOPICS, Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.warm import warm_lookups


def name(connections: int) -> str:
    """The row of lookups over so many connections."""
    return f"{connections:,} connections: route lookup, 1 outstanding"


def memory(connections: int) -> str:
    """The row of memory after so many connections."""
    return f"{connections:,} connections: resident memory afterwards"


def run(bench: Bench, record: Record) -> None:
    """From few connections to many, with all servers in turn."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, *JAVAS, RUST, C), SHAPE, SHAPE.body()) as found:
        servers = having(found)
        warm_lookups(bench, record, servers, TOPICS)
        for connections in plan.growing_connections:
            measure = partial(measure_lookups, connections=connections, depth=1, encoding="json", topics=TOPICS,
                              seconds=plan.route_s)  # fmt: skip
            bench.measure(record, plan.growing_rounds, found, {name(connections): measure})
            add_memory(record, servers, memory(connections))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        "Like the route lookups above, with JSON headers and one request outstanding on each connection. Connecting is "
        f"not measured. Memory is read after {plan.growing_rounds} rounds, when the connections are closed."
    )


PART = Part("connections", "As connections grow", method, run)

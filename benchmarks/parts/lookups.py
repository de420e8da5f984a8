"""Route lookups in closed loops: both header encodings, 1 and 16 outstanding, few and many connections."""

from __future__ import annotations

from functools import partial

from benchmarks.bench import Bench, add_memory, having, measure_lookups
from benchmarks.loading.brokers import Brokers, Shape
from benchmarks.parts.part import Part
from benchmarks.plan import BROKERS, DEPTHS, ENCODINGS, FEW, MANY, TOPICS, WIDTH, Plan
from benchmarks.record import Cell, Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.warm import warm_lookups

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
CELLS = [(FEW, encoding, depth) for encoding in ENCODINGS for depth in DEPTHS]
CELLS += [(MANY, "json", depth) for depth in DEPTHS]
MEMORY = f"resident memory with {TOPICS:,} topics, after all lookups"


def name(connections: int, encoding: str, depth: int) -> str:
    """The row of a cell."""
    return f"route lookup, {connections:,} connections, {depth} outstanding, {ENCODINGS[encoding]}"


def run(bench: Bench, record: Record) -> None:
    """All servers run at once. In each round every cell is measured on each of them."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, *JAVAS, RUST, C), SHAPE, SHAPE.body()) as found:
        servers = having(found)
        warm_lookups(bench, record, servers, TOPICS, list(ENCODINGS))
        bench.measure(record, plan.rounds, found, {
            name(connections, encoding, depth): partial(_measure, connections=connections, encoding=encoding,
                                                        depth=depth, seconds=plan.route_s)
            for connections, encoding, depth in CELLS
        })  # fmt: skip
        add_memory(record, servers, MEMORY)


def _measure(cell: Cell, brokers: Brokers, *, connections: int, encoding: str, depth: int, seconds: float) -> None:
    """One cell."""
    measure_lookups(cell, brokers, connections=connections, depth=depth, encoding=encoding, topics=TOPICS,
                    seconds=seconds)  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers and {TOPICS:,} topics, each topic on {WIDTH} of the brokers (answers of about 900 bytes). "
        f"Closed loop: each connection always has its requests outstanding. {plan.route_s:g} s a cell and round, after "
        "a fifth of that unmeasured; longer where fewer than two answers for each outstanding request arrived. A "
        "closed loop sends less while the server is slow, so its latencies leave out the requests that would have been "
        "sent then. Paced load is below. CPU is that of the whole server process: all threads, user and system. One "
        "load generator on the same cores limits the throughput of the fastest servers. At "
        f"{MANY:,} connections most of the latency is the load generator's own. Binary headers were "
        f"measured with {FEW} connections only."
    )


PART = Part("lookups", "Route lookups, closed loop", method, run)

"""Route lookups in closed loops: both header encodings, 1 and 16 outstanding, few and many connections."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having, measure_lookups
from benchmarks.brokers import Shape, fleets
from benchmarks.kinds import ASYNCIO, DEFAULT, JAVAS, REACTORS_1, RUST, C
from benchmarks.parts.part import Part
from benchmarks.plan import BROKERS, DEPTHS, ENCODINGS, FEW, MANY, TOPICS, WIDTH, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record
from benchmarks.running import Needs, Server, running
from benchmarks.warm import warm_lookups

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
CELLS = [(FEW, encoding, depth) for encoding in ENCODINGS for depth in DEPTHS]
CELLS += [(MANY, "json", depth) for depth in DEPTHS]
MEMORY = f"resident memory with {TOPICS:,} topics, after all lookups"


def name(connections: int, encoding: str, depth: int) -> str:
    """What a cell is called in the tables."""
    return f"route lookup, {connections:,} connections, {depth} outstanding, {ENCODINGS[encoding]}"


def run(bench: Bench, record: Record) -> None:
    """All servers at once, and in each round each of them in each cell."""
    kinds, plan = bench.choose(DEFAULT, REACTORS_1, ASYNCIO, *JAVAS, RUST, C), bench.plan
    with (
        running(kinds, bench.folder, Needs(SHAPE.body()), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        warm_lookups(bench, record, servers, TOPICS, list(ENCODINGS))
        for number, order in bench.turns(record, plan.rounds, servers):
            for connections, encoding, depth in CELLS:
                what = name(connections, encoding, depth)
                bench.say(f"round {number + 1} of {plan.rounds}: {what}")
                for server in order:
                    key = server.kind.key
                    if _is_measured(server, connections) and not record.is_hopeless(key, what):
                        with record.cell(key, number, what) as cell:
                            measure_lookups(cell, server, found[key], connections=connections, depth=depth,
                                            encoding=encoding, topics=TOPICS, seconds=plan.route_s)  # fmt: skip
        for server in servers:
            with record.cell(server.kind.key, 0, MEMORY) as cell:
                cell.add("MB", resident_mb(server.pid))


def _is_measured(server: Server, connections: int) -> bool:
    """The asyncio lane is no default and takes minutes for a round of many connections: only few there."""
    return server.kind.key != ASYNCIO or connections == FEW


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers, {TOPICS:,} topics, each on {WIDTH} of the brokers (an answer of about 900 bytes); closed "
        f"loop: each connection always has its requests outstanding; {plan.route_s:g} s a cell and round after a fifth "
        f"of that unmeasured (longer where fewer than two answers for each outstanding request came). A closed loop "
        "sends less while the server is slow, so its latencies leave out what would have been sent then; paced load "
        "is below. CPU is that of the whole server process, all threads, user and system. One load generator on the "
        "same cores bounds the throughput of the fastest servers, and its own turn is most of the latency at "
        f"{MANY:,} connections. Binary headers, and rocketns on asyncio, were measured with {FEW} "
        "connections only."
    )


PART = Part("lookups", "Route lookups, closed loop", method, run)

"""Route lookups: both header encodings, 1 and 16 outstanding, few and many connections."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having, measure_lookups
from benchmarks.fleet import Shape, fleets
from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, ROCKETNS, RUST
from benchmarks.parts.part import Part
from benchmarks.plan import BROKERS, DEPTHS, ENCODINGS, FEW, MANY, TOPICS, WIDTH, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record
from benchmarks.running import Needs, running

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
CELLS = [(connections, encoding, depth) for connections in (FEW, MANY) for encoding in ENCODINGS for depth in DEPTHS]
MEMORY = f"resident memory with {TOPICS:,} topics, after all lookups"


def name(connections: int, encoding: str, depth: int) -> str:
    """What a cell is called in the tables."""
    return f"route lookup, {connections:,} connections, {depth} outstanding, {ENCODINGS[encoding]}"


def run(bench: Bench, record: Record) -> None:
    """All servers at once, and in each round each of them in each cell."""
    kinds, plan = bench.choose(ROCKETNS, REACTORS_2, ASYNCIO, JAVA, RUST, LEAST), bench.plan
    with (
        running(kinds, bench.folder, Needs(SHAPE.body()), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        bench.warm_up(servers, TOPICS, share=1.0)
        for number, order in bench.turns(record, plan.rounds, servers):
            for connections, encoding, depth in CELLS:
                what = name(connections, encoding, depth)
                bench.say(f"round {number + 1} of {plan.rounds}: {what}")
                for server in order:
                    key = server.kind.key
                    if not record.is_hopeless(key, what):
                        with record.cell(key, number, what) as cell:
                            measure_lookups(cell, server, found[key], connections=connections, depth=depth,
                                            encoding=encoding, topics=TOPICS, seconds=plan.route_s)  # fmt: skip
        for server in servers:
            with record.cell(server.kind.key, 0, MEMORY) as cell:
                cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{BROKERS} brokers, {TOPICS:,} topics, each on {WIDTH} of the brokers (an answer of about 900 bytes); closed "
        f"loop: each connection always has its requests outstanding; {plan.route_s:g} s a cell and round after a fifth "
        f"of that unmeasured (longer where fewer than two answers for each outstanding request came); before the "
        f"first round {plan.warm_up_s:g} s of load in each encoding for Java, which compiles its code meanwhile. "
        "CPU is that of the whole server process, all threads, user and system. Requests a second and latencies are "
        "what one load generator on the same cores saw: it is the limit for the fastest servers, and latencies at "
        f"{MANY:,} connections are mostly the wait for its turn."
    )


def expected_s(plan: Plan) -> float:
    """For the display."""
    return 20 + 2 * plan.warm_up_s + plan.rounds * len(CELLS) * 6 * (plan.route_s * 1.6 + 0.2)


PART = Part("lookups", "Route lookups", (ROCKETNS, ASYNCIO), method, expected_s, run)

"""Route lookups at the rate of 100,000 clients, in an open loop."""

from __future__ import annotations

from functools import partial

from benchmarks.bench import Bench, having, measure_paced
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import CLIENT_TOPICS, CLIENTS, CLIENTS_RATE, FEW, MANY, POLL_EVERY_S, TOPICS, Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.warm import warm_lookups

CELLS = [(connections, round(CLIENTS_RATE)) for connections in (FEW, MANY)]
WARM_SHARE = 0.5


def name(connections: int, rate: int) -> str:
    """The row of lookups at this rate over so many connections."""
    return f"route lookup, paced, {rate:,} a second over {connections:,} connections"


def run(bench: Bench, record: Record) -> None:
    """All servers run at once. In each round every cell is measured on each of them."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, *JAVAS, RUST, C), SHAPE, SHAPE.body()) as found:
        warm_lookups(bench, record, having(found), TOPICS)
        seconds, warm_s = plan.route_s, WARM_SHARE * plan.route_s
        bench.measure(record, plan.rounds, found, {
            name(connections, rate): partial(measure_paced, connections=connections, rate=rate, loop="open",
                                             topics=TOPICS, seconds=seconds, warm_s=warm_s)
            for connections, rate in CELLS
        })  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{CLIENTS:,} clients with {CLIENT_TOPICS} topics each ask for every topic every {POLL_EVERY_S} s: "
        f"{CLIENTS_RATE:,.0f} lookups a second. Open loop: requests are due at random times (exponential gaps), on "
        "random connections, whether earlier ones are answered or not. A latency counts from the time the request was "
        "due, so a pause of the server delays every request that comes due meanwhile. Not measured: "
        f"{CLIENTS:,} connections; the requests use {FEW} and {MANY:,}. The load generator shares the cores with the "
        'server; "p99 µs from due to sent" is its own delay, which the latencies include. '
        f"{plan.route_s:g} s a cell and round, after {WARM_SHARE * plan.route_s:g} s unmeasured. Topics and answers as "
        "in the closed loop, JSON headers."
    )


PART = Part("paced", f"Route lookups, paced at the rate of {CLIENTS:,} clients", method, run)

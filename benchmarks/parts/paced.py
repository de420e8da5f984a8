"""Route lookups at the rate of a fleet, in an open loop."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having, measure_paced
from benchmarks.brokers import fleets
from benchmarks.kinds import DEFAULT, JAVAS, REACTORS_1, RUST, C
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, FLEET_CLIENTS, FLEET_EVERY_S, FLEET_RATE, FLEET_TOPICS, MANY, TOPICS, Plan
from benchmarks.record import Record
from benchmarks.running import Needs, running
from benchmarks.warm import warm_lookups

CELLS = [(connections, round(FLEET_RATE)) for connections in (FEW, MANY)]
WARM_SHARE = 0.5


def name(connections: int, rate: int) -> str:
    """What a cell is called in the tables."""
    return f"route lookup, paced, {rate:,} a second over {connections:,} connections"


def run(bench: Bench, record: Record) -> None:
    """All servers at once, and in each round each of them in each cell."""
    kinds, plan = bench.choose(DEFAULT, REACTORS_1, *JAVAS, RUST, C), bench.plan
    with (
        running(kinds, bench.folder, Needs(SHAPE.body()), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        warm_lookups(bench, record, servers, TOPICS)
        for number, order in bench.turns(record, plan.rounds, servers):
            for connections, rate in CELLS:
                what = name(connections, rate)
                bench.say(f"round {number + 1} of {plan.rounds}: {what}")
                for server in order:
                    key = server.kind.key
                    if not record.is_hopeless(key, what):
                        with record.cell(key, number, what) as cell:
                            measure_paced(cell, server, found[key], connections=connections, rate=rate, loop="open",
                                          topics=TOPICS, seconds=plan.route_s,
                                          warm_s=WARM_SHARE * plan.route_s)  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"{FLEET_CLIENTS:,} clients with {FLEET_TOPICS} topics each ask for every topic each {FLEET_EVERY_S} s: "
        f"{FLEET_RATE:,.0f} lookups a second. Open loop: requests are due at random times "
        "(exponential gaps), on random connections, whether earlier ones are answered or not, and a latency "
        "counts from the time the request was due. A pause of the server is in the latency of everything that "
        f"came due meanwhile. Not measured: {FLEET_CLIENTS:,} connections; the requests come over {FEW} and "
        f'{MANY:,}. The load generator shares the cores with the server; "p99 µs from due to sent" is its own '
        f"delay, which is in the latencies, too. {plan.route_s:g} s a cell and round after "
        f"{WARM_SHARE * plan.route_s:g} s unmeasured. Topics and answers as in the closed loop, JSON headers."
    )


PART = Part("paced", "Route lookups, paced at a fleet's rate", method, run)

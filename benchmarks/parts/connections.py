"""What lookups and memory cost as connections grow."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having, measure_lookups
from benchmarks.brokers import fleets
from benchmarks.kinds import DEFAULT, JAVAS, REACTORS_1, RUST, C
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import TOPICS, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record
from benchmarks.running import Needs, running
from benchmarks.warm import warm_lookups


def name(connections: int) -> str:
    """What a number of connections is called in the tables."""
    return f"{connections:,} connections: route lookup, 1 outstanding"


def memory(connections: int) -> str:
    """What memory after so many connections is called."""
    return f"{connections:,} connections: resident memory afterwards"


def run(bench: Bench, record: Record) -> None:
    """From few to many, all servers in turn."""
    kinds, plan = bench.choose(DEFAULT, REACTORS_1, *JAVAS, RUST, C), bench.plan
    with (
        running(kinds, bench.folder, Needs(SHAPE.body()), record.failed) as all_servers,
        fleets(all_servers, SHAPE, plan.register_s, failing(record)) as found,
    ):
        servers = having(all_servers, found)
        warm_lookups(bench, record, servers, TOPICS)
        for connections in plan.growing_connections:
            what = name(connections)
            for number, order in bench.turns(record, plan.growing_rounds, servers):
                bench.say(f"round {number + 1} of {plan.growing_rounds}: {what}")
                for server in order:
                    key = server.kind.key
                    if not record.is_hopeless(key, what):
                        with record.cell(key, number, what) as cell:
                            measure_lookups(cell, server, found[key], connections=connections, depth=1,
                                            encoding="json", topics=TOPICS, seconds=plan.route_s)  # fmt: skip
            for server in servers:
                with record.cell(server.kind.key, 0, memory(connections)) as cell:
                    cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        "As the route lookups above, JSON headers, one request outstanding on each connection. Connecting is not "
        f"measured. Memory is read after {plan.growing_rounds} rounds, when the connections are closed again."
    )


PART = Part("connections", "As connections grow", method, run)

"""Route lookups over TLS in closed loops, as the servers take it by default, and a C server that does the least."""

from __future__ import annotations

from functools import partial

from benchmarks.bench import Bench, having, measure_lookups
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import DEPTHS, FEW, TOPICS, Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, C
from benchmarks.warm import warm_lookups


def name(depth: int) -> str:
    """The row of a cell."""
    return f"route lookup over TLS, {FEW} connections, {depth} outstanding"


def run(bench: Bench, record: Record) -> None:
    """All servers run at once. In each round every cell is measured on each of them."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, *JAVAS, C), SHAPE, SHAPE.body(), tls=True) as found:
        warm_lookups(bench, record, having(found), TOPICS, tls=True)
        bench.measure(record, plan.rounds, found, {
            name(depth): partial(measure_lookups, connections=FEW, depth=depth, encoding="json", topics=TOPICS,
                                 seconds=plan.route_s, tls=True)
            for depth in DEPTHS
        })  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        "As the plain lookups, with JSON headers. The servers have their default: permissive TLS with a certificate "
        f"that they make themselves. The handshakes are over before a cell's {plan.route_s:g} s begin. The simple C "
        "server and the load generator use the system's OpenSSL, with its defaults for versions and suites; the load "
        "generator does not verify certificates. Its part of the cores is as large as that of the C server."
    )


PART = Part("tls", "Route lookups over TLS", method, run)

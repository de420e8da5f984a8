"""The gain of a second reactor: the most that one and two of them can answer."""

from __future__ import annotations

from functools import partial

from benchmarks.bench import Bench
from benchmarks.loading.brokers import Brokers
from benchmarks.loading.load import bulk
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import FEW, TOPICS, Plan
from benchmarks.record import Cell, Record
from benchmarks.servers.kinds import DEFAULT, REACTORS_2
from benchmarks.servers.process import cpu_s, settle, thread_cpu_s

DEPTH = 256
WHAT = f"route lookup, {FEW} connections, {DEPTH} outstanding, saturating"
CAPACITY, WALL = "requests/s of the busiest thread's CPU", "requests/s by the clock"


def run(bench: Bench, record: Record) -> None:
    """One reactor, the default, and two, in turn."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, REACTORS_2), SHAPE) as found:
        bench.measure(record, plan.rounds, found, {WHAT: partial(_saturate, seconds=2 * plan.route_s)})


def _saturate(cell: Cell, brokers: Brokers, *, seconds: float) -> None:
    server = brokers.server
    server.check_alive()
    brokers.keep_alive()
    all_before, before = cpu_s(server.pid), thread_cpu_s(server.pid)
    load = bulk(server, connections=FEW, depth=DEPTH, encoding="json", topics=TOPICS, seconds=seconds)
    after, spent = thread_cpu_s(server.pid), cpu_s(server.pid) - all_before
    busiest = max(now - before.get(thread, 0.0) for thread, now in after.items())
    cell.add(CAPACITY, load.requests / busiest)
    cell.add(WALL, load.per_second)
    cell.add("CPU µs", spent * 1e6 / load.requests)
    cell.add("cores busy in the server", spent / load.seconds)
    cell.add("cores busy in the load generator", load.own_cpu_us * 1e-6 * load.per_second)
    cell.add("busiest thread's share of the server's CPU", busiest / spent)
    settle(server.pid)


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"Saturating load: {FEW} connections, {DEPTH} requests outstanding on each, {2 * plan.route_s:g} s, by a "
        "client that counts answers by their bytes and never copies them. It needs a part of the cores that the "
        "reactors would use, so requests a second by the clock cannot double on two cores. The capacity with one core "
        "for each reactor is the number of requests answered for each second of CPU time of the busiest thread "
        "(/proc/PID/task/*/schedstat). A reactor that waits for a lock, or works more because of the other one, "
        "answers fewer. A reactor with more than half of the connections limits the capacity."
    )


PART = Part("reactors", "One reactor and two", method, run)

"""The time from start to the first answer, and memory right after it."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.parts.part import Part
from benchmarks.plan import Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.servers.process import cpu_s, resident_mb
from benchmarks.servers.running import Needs, Server

WHAT = "start to first answer"
MEMORY = "resident memory after the first answer"


def run(bench: Bench, record: Record) -> None:
    """One start after the other, each with an empty home folder."""
    kinds = bench.choose(DEFAULT, *JAVAS, RUST, C)
    for number in range(bench.plan.starts):
        bench.say(f"start {number + 1} of {bench.plan.starts}")
        for kind in kinds:
            if record.is_hopeless(kind.key, WHAT):
                continue
            with record.cell(kind.key, number, WHAT) as cell:
                server = Server(kind, bench.folder / f"{kind.key}-{number}", Needs())
                try:
                    cell.add("ms", server.start_s * 1e3)
                    cell.add("CPU ms", cpu_s(server.pid) * 1e3)
                    record.row(MEMORY, "MB").add(kind.key, number, resident_mb(server.pid))
                finally:
                    server.kill()


def method(plan: Plan) -> str:
    """For the report."""
    return (
        "From exec to the answer of the first request (GET_BROKER_CLUSTER_INFO), which is tried every 2 ms. "
        f"{plan.starts} starts each."
    )


PART = Part("start", "Start", method, run)

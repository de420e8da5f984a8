"""Resident memory with some and with many topics."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having
from benchmarks.brokers import Shape, fleets
from benchmarks.kinds import ASYNCIO, DEFAULT, JAVAS, RUST
from benchmarks.load import lookups
from benchmarks.parts.part import Part
from benchmarks.plan import BROKERS, ENCODINGS, FEW, WIDTH, Plan
from benchmarks.process import resident_mb
from benchmarks.record import Record
from benchmarks.running import Needs, running


def name(topics: int) -> str:
    """What a size is called in the tables."""
    return f"resident memory with {topics:,} topics"


def run(bench: Bench, record: Record) -> None:
    """New servers for each size: memory once used is not always given back."""
    plan = bench.plan
    for topics in plan.memory_topics:
        bench.say(name(topics))
        shape = Shape(BROKERS, topics, WIDTH)
        kinds = [kind for kind in bench.choose(DEFAULT, ASYNCIO, *JAVAS, RUST) if kind.key not in record.failed]
        with (
            running(kinds, bench.folder / str(topics), Needs(), record.failed) as servers,
            fleets(servers, shape, plan.register_s, failing(record)) as found,
        ):
            for server in having(servers, found):
                with record.cell(server.kind.key, 0, name(topics)) as cell:
                    for encoding in ENCODINGS:
                        lookups(server, connections=FEW, depth=16, encoding=encoding, topics=topics, seconds=0)
                    cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"New servers; {BROKERS} brokers, each topic on {WIDTH} of them; each topic was asked for once in each header "
        f"encoding before VmRSS was read. MB are of 1,000,000 bytes. One measurement at each of "
        f"{', '.join(f'{topics:,}' for topics in plan.memory_topics)} topics."
    )


PART = Part("memory", "Memory", method, run)

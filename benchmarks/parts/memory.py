"""Resident memory with few and with many topics."""

from __future__ import annotations

from benchmarks.bench import Bench, failing, having
from benchmarks.loading.brokers import Shape, with_brokers
from benchmarks.loading.load import lookups
from benchmarks.parts.part import Part
from benchmarks.plan import BROKERS, ENCODINGS, FEW, WIDTH, Plan
from benchmarks.record import Record
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST
from benchmarks.servers.process import resident_mb
from benchmarks.servers.running import Needs, running


def name(topics: int) -> str:
    """The row of memory with so many topics."""
    return f"resident memory with {topics:,} topics"


def run(bench: Bench, record: Record) -> None:
    """New servers for each size, because a process does not always give memory back."""
    plan = bench.plan
    for topics in plan.memory_topics:
        bench.say(name(topics))
        shape = Shape(BROKERS, topics, WIDTH)
        kinds = [kind for kind in bench.choose(DEFAULT, *JAVAS, RUST) if kind.key not in record.failed]
        with (
            running(kinds, bench.folder / str(topics), Needs(), record.failed) as servers,
            with_brokers(servers, shape, plan.register_s, failing(record)) as found,
        ):
            for server in having(found):
                with record.cell(server.kind.key, 0, name(topics)) as cell:
                    for encoding in ENCODINGS:
                        lookups(server, connections=FEW, depth=16, encoding=encoding, topics=topics, seconds=0)
                    cell.add("MB", resident_mb(server.pid))


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"New servers. {BROKERS} brokers, each topic on {WIDTH} of them. Each topic is looked up once in each header "
        "encoding; then VmRSS is read. 1 MB is 1,000,000 bytes. One measurement each at "
        f"{', '.join(f'{topics:,}' for topics in plan.memory_topics)} topics."
    )


PART = Part("memory", "Memory", method, run)

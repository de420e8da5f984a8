"""Registrations of one broker with very many topics: new, changed, unchanged, compressed."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.failures import CellFailed
from benchmarks.fleet import send
from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, RUST
from benchmarks.parts.part import Part
from benchmarks.plan import MANY_TOPICS, Plan
from benchmarks.process import resident_mb, settle
from benchmarks.record import Record
from benchmarks.registrations import MANY_BROKER, ManyTopics
from benchmarks.running import Needs, Server, running
from interop.harness import codes
from interop.harness.wire import Client, eventually

GONE_WITHIN_S = 30.0
MEMORY = f"resident memory with one broker's {MANY_TOPICS:,} topics"


def name(kind: str) -> str:
    """What a kind of registration is called in the tables."""
    return f"registration of {MANY_TOPICS:,} topics, {kind}"


def run(bench: Bench, record: Record) -> None:
    """In each round a broker appears, changes, repeats itself, changes compressed, and leaves."""
    plan = bench.plan
    bench.say("making the registrations")
    frames = ManyTopics.make(plan.registrations)
    kinds = bench.choose(REACTORS_2, ASYNCIO, JAVA, RUST, LEAST)
    with running(kinds, bench.folder, Needs(), record.failed) as servers:
        for number in range(plan.warm_up_registration_rounds):
            bench.say(f"warm-up {number + 1} of {plan.warm_up_registration_rounds}")
            for server in servers:
                if server.kind.compiles_itself or not number:
                    _round(Record("", ""), server, 0, frames)
        for number, order in bench.turns(record, plan.rounds, servers):
            bench.say(f"round {number + 1} of {plan.rounds}")
            for server in order:
                _round(record, server, number, frames)


def _round(record: Record, server: Server, number: int, frames: ManyTopics) -> None:
    key = server.kind.key
    requests = {"new": [frames.first], "changed": frames.changed, "unchanged": frames.unchanged,
                "changed, compressed": frames.compressed}  # fmt: skip
    if key in record.failed:
        return
    with record.cell(key, number, MEMORY) as whole, server.connect() as client:
        server.check_alive()
        for kind, chosen in requests.items():
            if not record.is_hopeless(key, name(kind)):
                with record.cell(key, number, name(kind)) as cell:
                    spent = [send(server, client, frame) for frame in chosen]
                    cell.add("CPU ms", sum(one.cpu_s for one in spent) * 1e3 / len(spent))
                    cell.add("ms to the answer", sum(one.took_s for one in spent) * 1e3 / len(spent))
        whole.add("MB", resident_mb(server.pid))
    with record.cell(key, number, "leaving of the broker"):
        _wait_until_gone(server)


def _wait_until_gone(server: Server) -> None:
    """Its connection was closed: the server unregisters the broker."""

    def is_gone() -> bool:
        with Client(server.port) as client:
            return MANY_BROKER.encode() not in (client.request(codes.GET_BROKER_CLUSTER_INFO).body or b"")

    try:
        eventually(is_gone, within_s=GONE_WITHIN_S)
    except AssertionError:
        raise CellFailed(f"the broker was still there {GONE_WITHIN_S:.0f} s after its connection was closed") from None
    settle(server.pid)


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"One broker with {MANY_TOPICS:,} topics (1.7 MB of JSON), {plan.registrations} registrations of a kind and "
        f"round on one connection, {plan.warm_up_registration_rounds} rounds of warm-up for Java and one for the "
        'others. "changed": a new data version and two topics differ from the one before; "unchanged": the same bytes '
        'again, as brokers send them every 30 s. "least possible" receives the bytes and says yes.'
    )


def expected_s(plan: Plan) -> float:
    """For the display."""
    return 10 + (plan.rounds + 1) * (1 + plan.registrations) * 0.7


PART = Part("registering", "Registrations", (REACTORS_2, ASYNCIO), method, expected_s, run)

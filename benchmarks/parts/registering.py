"""Registrations of one broker with 10,000 topics: new, changed, unchanged, compressed."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.failures import CellFailed
from benchmarks.loading.brokers import send
from benchmarks.loading.registrations import MANY_BROKER, ManyTopics
from benchmarks.parts.part import Part
from benchmarks.plan import MANY_TOPICS, Plan
from benchmarks.record import Cell, Record, quantile
from benchmarks.servers.kinds import DEFAULT, JAVAS, RUST, C
from benchmarks.servers.process import Spent, resident_mb
from benchmarks.servers.running import Needs, Server, running
from benchmarks.warm import is_warm, said, wait_until_gone

MEMORY = f"resident memory with one broker's {MANY_TOPICS:,} topics"
KINDS = ("new", "changed", "unchanged", "changed, compressed")


def name(kind: str) -> str:
    """The row of a kind of registration."""
    return f"registration of {MANY_TOPICS:,} topics, {kind}"


def run(bench: Bench, record: Record) -> None:
    """In each round a broker registers, changes, repeats its topics, changes again (compressed), and leaves."""
    plan = bench.plan
    bench.say("making the registrations")
    frames = ManyTopics.make(plan.registrations)
    kinds = bench.choose(DEFAULT, *JAVAS, RUST, C)
    with running(kinds, bench.folder, Needs(), record.failed) as servers:
        for server in servers:
            bench.say(f"warming up {server.kind.label}")
            _warm(plan, record, server, frames)
        for number, order in bench.turns(record, plan.registration_rounds, servers):
            bench.say(f"round {number + 1} of {plan.registration_rounds}")
            for server in order:
                _round(record, server, number, frames)


def _warm(plan: Plan, record: Record, server: Server, frames: ManyTopics) -> None:
    """Whole rounds whose figures are discarded."""
    costs: list[float] = []
    while len(costs) < (plan.warm_up_registration_rounds if server.kind.compiles_itself else 1) and not is_warm(costs):
        discarded = Record("", "")
        _round(discarded, server, 0, frames)
        row = discarded.find(name("changed"), "CPU ms")
        cost = row.middle(server.kind.key) if row else None
        if cost is None:
            return  # it fails again in the measurement, where it is noted
        costs.append(cost)
    if server.kind.compiles_itself:
        record.note(said(server.kind.label, "changed registrations", costs, "CPU ms"))


def _round(record: Record, server: Server, number: int, frames: ManyTopics) -> None:
    key = server.kind.key
    requests = dict(zip(KINDS, ([frames.first], frames.changed, frames.unchanged, frames.compressed), strict=True))
    if key in record.failed:
        return
    with record.cell(key, number, MEMORY) as whole, server.connect() as client:
        server.check_alive()
        for kind, chosen in requests.items():
            if not record.is_hopeless(key, name(kind)):
                with record.cell(key, number, name(kind)) as cell:
                    _add(cell, [send(server, client, frame) for frame in chosen])
        whole.add("MB", resident_mb(server.pid))
    with record.cell(key, number, "leaving of the broker"):
        _leave(server)


def _add(cell: Cell, spent: list[Spent]) -> None:
    waits_s = [one.took_s for one in spent]
    cell.add("registrations/s", len(spent) / sum(waits_s))
    cell.add("p50 ms", quantile(waits_s, 0.5) * 1e3)
    cell.add("p99 ms", quantile(waits_s, 0.99) * 1e3)
    cell.add("CPU ms", sum(one.cpu_s for one in spent) * 1e3 / len(spent))


def _leave(server: Server) -> None:
    try:
        wait_until_gone(server, MANY_BROKER)
    except AssertionError as error:
        raise CellFailed(f"the broker did not leave after its connection was closed: {error}") from None


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"One broker with {MANY_TOPICS:,} topics (1.7 MB of JSON) sends {plan.registrations} registrations of a kind "
        '(one of "new") in a round, on one connection, one at a time; registrations a second are those of one broker. '
        f"p99 is the greatest of a round's {plan.registrations}. Warm-up: whole rounds, for Java until they get no "
        f'faster, at most {plan.warm_up_registration_rounds}; one for the others. "changed": a new data version, and '
        'two topics differ from the registration before. "unchanged": the same topics and versions as before, as '
        "brokers send them every 30 s. Only the time in mappingDataVersion differs, as with 5.x brokers. The simple C "
        "server receives the bytes and answers success without reading them."
    )


PART = Part("registering", "Registrations", method, run)

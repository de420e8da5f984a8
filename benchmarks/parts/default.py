"""The default beside ``--reactors 1``, at a part and at all of the load that one reactor can answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

from benchmarks.bench import Bench, having, measure_lookups, measure_paced
from benchmarks.failures import CellFailed
from benchmarks.loading.brokers import Brokers
from benchmarks.loading.load import lookups
from benchmarks.parts.lookups import SHAPE
from benchmarks.parts.part import Part
from benchmarks.plan import DEPTHS, FEW, LOADS, MANY, TOPICS, Plan
from benchmarks.record import Cell, Record
from benchmarks.servers.kinds import DEFAULT, REACTORS_1
from benchmarks.servers.running import Server
from benchmarks.warm import warm_lookups

CALIBRATIONS = 3
CAPACITY = "what --reactors 1 answers, {connections:,} connections, 1 outstanding"


@dataclass(frozen=True)
class Load:
    """One cell. ``depth`` 0: paced at ``share`` of the capacity. Else: a closed loop with ``depth`` outstanding."""

    connections: int
    share: float
    loop: str
    depth: int = 0

    @property
    def what(self) -> str:
        """The row of this cell."""
        outstanding = f", {self.depth} outstanding" if self.depth else ""
        return f"{self.share:.0%} load, {self.loop} loop, {self.connections:,} connections{outstanding}"


def _loads() -> Iterator[Load]:
    for connections in (FEW, MANY):
        yield from (Load(connections, share, "closed") for share in LOADS if share < 1)
        yield from (Load(connections, 1.0, "closed", depth) for depth in DEPTHS)
        yield from (Load(connections, share, "open") for share in LOADS)


CELLS = list(_loads())


def run(bench: Bench, record: Record) -> None:
    """Both servers in turn."""
    plan = bench.plan
    with bench.registered(record, (DEFAULT, REACTORS_1), SHAPE) as found:
        servers = having(found)
        warm_lookups(bench, record, servers, TOPICS)
        capacity = {connections: _capacity(bench, record, servers, connections) for connections in (FEW, MANY)}
        bench.measure(record, plan.default_rounds, found, {
            load.what: partial(_measure, load=load, capacity=capacity[load.connections], plan=plan) for load in CELLS
        })  # fmt: skip


def _capacity(bench: Bench, record: Record, servers: list[Server], connections: int) -> float:
    """The load that counts as 100 %: the median of some closed loops against one reactor, or against the default if
    that server is missing."""
    server = next((one for one in servers if one.kind.key == REACTORS_1), servers[0])
    found = []
    for number in range(CALIBRATIONS):
        with record.cell(server.kind.key, number, CAPACITY.format(connections=connections)) as cell:
            load = lookups(server, connections=connections, depth=1, encoding="json", topics=TOPICS,
                           seconds=bench.plan.default_s)  # fmt: skip
            cell.add("requests/s", load.per_second)
            found.append(load.per_second)
    if not found:
        raise CellFailed(f"{server.kind.label} answered no closed loop over {connections:,} connections")
    return median(found)


def _measure(cell: Cell, brokers: Brokers, *, load: Load, capacity: float, plan: Plan) -> None:
    if load.depth:
        measure_lookups(cell, brokers, connections=load.connections, depth=load.depth, encoding="json",
                        topics=TOPICS, seconds=plan.default_s)  # fmt: skip
    else:
        measure_paced(cell, brokers, connections=load.connections, rate=load.share * capacity, loop=load.loop,
                      topics=TOPICS, seconds=plan.default_s, warm_s=plan.default_warm_s)  # fmt: skip


def method(plan: Plan) -> str:
    """For the report."""
    return (
        f"100 % is what one reactor answers in a closed loop with 1 outstanding (median of {CALIBRATIONS}), for "
        f"{FEW} and for {MANY:,} connections. Closed loop below 100 %: each connection is a client that pauses "
        "between its requests. Open loop: as the paced lookups above. At 100 % in an open loop the load generator also "
        f"works at its limit. {plan.default_s:g} s a cell and round. The default decides itself how many reactors it "
        "uses."
    )


PART = Part("default", "The default beside one reactor", method, run)

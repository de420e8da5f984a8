"""Warm-up: load before the first measurement, until a server gets no faster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from benchmarks.bench import Bench
from benchmarks.failures import EXPECTED
from benchmarks.loading.brokers import send
from benchmarks.loading.load import lookups
from benchmarks.loading.registrations import broker_host, plain_body, registration
from benchmarks.plan import ENCODINGS, Plan
from benchmarks.record import Record
from benchmarks.servers.process import settle
from benchmarks.servers.running import Server
from interop.harness import codes
from interop.harness.wire import Client, eventually

# Warm: the least cost in the last LAST slices is at most this share below the least cost before them.
LAST, GAIN_MAX = 3, 0.03
# One slice is enough for a server that does not compile its code while it runs.
SLICES_OF_OTHERS = 1
WARM_BROKER, GONE_WITHIN_S = "broker-warm", 30.0


def is_warm(costs: Sequence[float]) -> bool:
    """Whether the last slices brought no further gain. The least cost of several slices is compared, because noise
    makes a slice more expensive, never cheaper."""
    return len(costs) > LAST and min(costs[-LAST:]) >= (1 - GAIN_MAX) * min(costs[:-LAST])


def until_warm(one: Callable[[], float], most: int) -> list[float]:
    """The costs of slices, one after another, until the server is warm; at most ``most``."""
    costs: list[float] = []
    while len(costs) < most and not is_warm(costs):
        costs.append(one())
    return costs


def said(label: str, what: str, costs: Sequence[float], unit: str) -> str:
    """A note for the report."""
    state = "warm" if is_warm(costs) else "still getting faster when the time for the warm-up was over"
    return f"Warm-up of {label}, {what}: {len(costs)} slices, {costs[0]:.3g} to {min(costs):.3g} {unit}, {state}."


def warm_lookups(bench: Bench, record: Record, servers: list[Server], topics: int,
                 encodings: Sequence[str] = ("json",), *, tls: bool = False) -> None:  # fmt: skip
    """Lookups, in slices, on every server. An error here occurs again in the measurement, which notes it."""
    plan = bench.plan
    for server in servers:
        for encoding in encodings:
            bench.say(f"warming up {server.kind.label}, {ENCODINGS[encoding]}")

            def one(server: Server = server, encoding: str = encoding) -> float:
                return lookups(server, connections=32, depth=16, encoding=encoding, topics=topics,
                               seconds=plan.warm_up_slice_s, tls=tls).cpu_us  # fmt: skip

            most = round(plan.warm_up_s / plan.warm_up_slice_s) if server.kind.compiles_itself else SLICES_OF_OTHERS
            with contextlib.suppress(*EXPECTED):
                costs = until_warm(one, most)
                if server.kind.compiles_itself:
                    record.note(said(server.kind.label, ENCODINGS[encoding], costs, "CPU µs a lookup"))


def warm_registrations(bench: Bench, record: Record, servers: list[Server], topics: int) -> None:
    """Registrations, in slices, on every server, of a broker that leaves afterwards."""
    frames = [registration(WARM_BROKER, broker_host(998), plain_body(range(topics), version + 1, frozenset([version])))
              for version in range(4)]  # fmt: skip
    for server in servers:
        bench.say(f"warming up {server.kind.label}, registrations")
        with contextlib.suppress(*EXPECTED):
            _warm_registrations(bench.plan, record, server, frames)


def _warm_registrations(plan: Plan, record: Record, server: Server, frames: list[bytes]) -> None:
    with server.connect() as client:

        def one() -> float:
            return sum(send(server, client, frame).cpu_s for frame in frames) * 1e3 / len(frames)

        most = 4 * plan.warm_up_registration_rounds if server.kind.compiles_itself else SLICES_OF_OTHERS
        costs = until_warm(one, most)
    if server.kind.compiles_itself:
        record.note(said(server.kind.label, "registrations", costs, "CPU ms a registration"))
    wait_until_gone(server, WARM_BROKER)


def wait_until_gone(server: Server, broker: str) -> None:
    """Wait until the server has unregistered a broker whose connection was closed. AssertionError if it does not."""

    def is_gone() -> bool:
        with Client(server.port) as client:
            return broker.encode() not in (client.request(codes.GET_BROKER_CLUSTER_INFO).body or b"")

    eventually(is_gone, within_s=GONE_WITHIN_S)
    settle(server.pid)

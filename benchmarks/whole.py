"""The measurements over sockets, in the order in which they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.load import Generator
from benchmarks.plan import DEPTHS, ENCODINGS, MANY_TOPICS, TOPICS, Plan
from benchmarks.process import resident_mib, spent_by
from benchmarks.registrations import ManyTopics, connect, register_fleet, send, wait_until_gone
from benchmarks.results import Results
from interop.harness import codes
from interop.harness.servers import NameServer

# The benchmark's own pauses must not close the brokers' connections.
SETTINGS: dict[str, object] = {"serverChannelMaxIdleTimeSeconds": 3600}

Say = Callable[[str], None]


@contextmanager
def running(kinds: list[type[NameServer]], folder: Path) -> Iterator[list[NameServer]]:
    """One server of each kind, killed in the end: nothing of them is kept."""
    with ExitStack() as stack:
        servers = []
        for kind in kinds:
            servers.append(kind(folder / kind.kind, SETTINGS))
            stack.callback(servers[-1].kill)
        yield servers


def measure(plan: Plan, kinds: list[type[NameServer]], folder: Path, say: Say) -> Results:
    """Everything; LoadFailed or AssertionError where a server does not answer as it must."""
    results, generator = Results(), Generator(folder)
    for number in range(plan.starts):
        say(f"start {number + 1} of {plan.starts}")
        for kind in kinds:
            _start(results, kind, folder / f"start-{kind.kind}-{number}")
    with running(kinds, folder) as servers:
        _routes(results, plan, servers, generator, say)
        _many_topics(results, plan, servers, generator, say)
    return results


def _start(results: Results, kind: type[NameServer], folder: Path) -> None:
    before = time.perf_counter()
    server = kind(folder, SETTINGS)
    try:
        with server.connect() as client:
            assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == 0
        results.add("start to first answer", "ms", kind.kind, (time.perf_counter() - before) * 1e3)
        results.add("resident memory at start", "MiB", kind.kind, resident_mib(server.pid))
    finally:
        server.kill()


def _routes(results: Results, plan: Plan, servers: list[NameServer], generator: Generator, say: Say) -> None:
    fleets = [register_fleet(server) for server in servers]
    for server in servers:
        for encoding in ENCODINGS:
            say(f"warming up {server.kind}, {ENCODINGS[encoding]}")
            generator.lookups(server, depth=max(DEPTHS), encoding=encoding, topics=TOPICS, seconds=plan.warm_up_s)
    for number in range(plan.rounds):
        for encoding, headers in ENCODINGS.items():
            for depth in DEPTHS:
                say(f"round {number + 1} of {plan.rounds}: route lookups, {headers}, {depth} outstanding")
                for server in servers:
                    load = generator.lookups(
                        server, depth=depth, encoding=encoding, topics=TOPICS, seconds=plan.route_s
                    )
                    what = f"route lookup, {headers}, {depth} outstanding"
                    results.add(what, "CPU µs", server.kind, load.cpu_us_per_request)
    for server, fleet in zip(servers, fleets, strict=True):
        results.add(f"resident memory with {TOPICS:,} topics under load", "MiB", server.kind, resident_mib(server.pid))
        for client in fleet:
            client.close()


def _many_topics(results: Results, plan: Plan, servers: list[NameServer], generator: Generator, say: Say) -> None:
    frames = ManyTopics.make(plan.registrations)
    for number in range(plan.warm_up_registration_rounds):
        say(f"warm-up {number + 1} of {plan.warm_up_registration_rounds}: {MANY_TOPICS:,} topics")
        for server in servers:
            _register_and_ask(Results(), server, frames, generator)
    for number in range(plan.rounds):
        say(f"round {number + 1} of {plan.rounds}: registrations of {MANY_TOPICS:,} topics, each asked for once")
        for server in servers:
            _register_and_ask(results, server, frames, generator)


def _register_and_ask(results: Results, server: NameServer, frames: ManyTopics, generator: Generator) -> None:
    kinds = {"new": [frames.first], "changed": frames.changed, "unchanged": frames.unchanged,
             "changed, compressed": frames.compressed}  # fmt: skip
    with connect(server) as client:
        for kind, requests in kinds.items():
            with spent_by(server.pid) as spent:
                for request in requests:
                    send(client, request)
            what = f"registration of {MANY_TOPICS:,} topics, {kind}"
            results.add(what, "CPU ms", server.kind, spent.cpu_s * 1e3 / len(requests))
        load = generator.lookups(server, depth=16, encoding="json", topics=MANY_TOPICS, seconds=0)
        assert load.requests == MANY_TOPICS
        what = f"each of {MANY_TOPICS:,} topics asked for once"
        results.add(what, "CPU µs", server.kind, load.cpu_us_per_request)
        results.add(f"resident memory with {MANY_TOPICS:,} topics", "MiB", server.kind, resident_mib(server.pid))
    wait_until_gone(server)

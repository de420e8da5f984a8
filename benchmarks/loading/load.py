"""Runs the load programs in C and reads their reports."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from benchmarks.failures import CellFailed
from benchmarks.servers.programs import compiled
from benchmarks.servers.running import Server

# The programs' own limits are much shorter.
TIMEOUT_S = 180
# TIMES_MAX of nsload.c: the factor by which it may run longer if answers are few.
WAITED = 6


@dataclass(frozen=True)
class Lookups:
    """One run of nsload. ``first_error``: the code of the first answer without a route.
    ``cpu_us``: CPU time of the server process for one request."""

    requests: int
    errors: int
    first_error: int
    per_second: float
    p50_us: float
    p99_us: float
    p999_us: float
    answer_bytes: float
    cpu_us: float


@dataclass(frozen=True)
class Bulk:
    """One run of nsbulk. ``own_cpu_us``: CPU time of the load program itself for one request."""

    requests: int
    seconds: float
    per_second: float
    own_cpu_us: float


@dataclass(frozen=True)
class Paced:
    """One run of nspaced. ``late_…``: the time from due to sent. ``sent_…``: the time from sent to answered.
    ``unanswered`` requests count in the latencies with the time until the program gave up on them."""

    requests: int
    errors: int
    first_error: int
    unanswered: int
    asked_per_second: float
    per_second: float
    p50_us: float
    p99_us: float
    p999_us: float
    late_p50_us: float
    late_p99_us: float
    sent_p99_us: float
    cpu_us: float
    own_cpu_us: float


def lookups(server: Server, *, connections: int, depth: int, encoding: str, topics: int, seconds: float,
            tls: bool = False) -> Lookups:  # fmt: skip
    """Random lookups for ``seconds``; with 0, one lookup of each topic. CellFailed on any answer without a route."""
    words = (server.port, server.pid, connections, depth, encoding, topics, seconds)
    load = Lookups(**_run(server, "nsload", *words, tls=tls))
    _check(load)
    if seconds and load.requests < connections * depth:
        raise CellFailed(f"too slow: {load.requests} answers in {WAITED} times the time, fewer than one a request")
    return load


def bulk(server: Server, *, connections: int, depth: int, encoding: str, topics: int, seconds: float) -> Bulk:
    """As many lookups as the server answers, from a client that uses little CPU."""
    return Bulk(**_run(server, "nsbulk", server.port, connections, depth, encoding, topics, seconds))


def paced(server: Server, *, connections: int, rate: float, loop: str, topics: int, seconds: float,
          warm_s: float) -> Paced:  # fmt: skip
    """Lookups at a rate; ``loop`` is "open" or "closed" (see nspaced.c). CellFailed on any answer without a route."""
    words = (server.port, server.pid, connections, round(rate), loop, "json", topics, seconds, warm_s)
    load = Paced(**_run(server, "nspaced", *words))
    _check(load)
    return load


def _check(load: Lookups | Paced) -> None:
    if load.errors:
        raise CellFailed(
            f"{load.errors} of {load.requests} answers had no route; the first of them had code {load.first_error}"
        )


def start_paced(server: Server, *, connections: int, rate: float, topics: int,
                seconds: float) -> subprocess.Popen[str]:  # fmt: skip
    """Start nspaced in an open loop, without warm-up; ``finish_paced`` waits for it."""
    words = (compiled("nspaced"), server.port, server.pid, connections, round(rate), "open", "json", topics, seconds, 0)
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_paced(server: Server, load: subprocess.Popen[str]) -> Paced:
    """Wait for nspaced to end; its report."""
    try:
        said, complaint = load.communicate(timeout=TIMEOUT_S)
    finally:
        load.kill()
    found = Paced(**_report(server, load.returncode, said, complaint))
    _check(found)
    return found


def _run(server: Server, program: str, *words: object, tls: bool = False) -> dict[str, Any]:
    command = [str(compiled(program, tls=tls)), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    return _report(server, done.returncode, done.stdout, done.stderr)


def _report(server: Server, status: int, said: str, complaint: str) -> dict[str, Any]:
    if status:
        server.check_alive()
        raise CellFailed(complaint.strip() or f"the load program ended with status {status}")
    report: dict[str, Any] = json.loads(said)
    return report

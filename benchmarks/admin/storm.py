"""Latency of lookups while brokers register, and a thousand scrapers hang at the management port.

They hang at the port of another rocketns, too: what that costs is only their use of the cores.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.admin.servers import pair, registered
from benchmarks.loading.brokers import Brokers
from benchmarks.loading.load import Paced, finish_paced, start_paced
from benchmarks.parts.storm import JAVAS_RATE, LOOKUP_RATE, SHAPE, Storm
from benchmarks.plan import FEW, MANY_TOPICS
from benchmarks.servers.process import cpu_s
from tests.admin.http import Http

SCRAPERS, AGAIN_S = 1000, 0.01
SECONDS = 3.0  # of one round: 6,000 lookups
ALONE, BESIDE_OTHERS, BESIDE_OWN = "nobody scrapes", "scrapers hang at another server", "scrapers hang at this server"
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def latencies(folder: Path, rounds: int) -> dict[str, list[dict[str, float]]]:
    """By who is beside: each round's quantiles in µs, the registrations a second, and the server's busy cores."""
    off, on, port = pair(folder)
    found: dict[str, list[dict[str, float]]] = {ALONE: [], BESIDE_OTHERS: [], BESIDE_OWN: []}
    storm = Storm.make()
    try:
        both = [registered(server, SHAPE) for server in (off, on)]
        for _ in range(rounds):
            found[ALONE].append(_round(both[0], storm))
            for what, brokers in zip((BESIDE_OTHERS, BESIDE_OWN), both, strict=True):
                with Scrapers(port) as scrapers:
                    measured = _round(brokers, storm)
                found[what].append(measured | {"scrapers a second": scrapers.opened / scrapers.took_s})
        for one in both:
            one.close()
    finally:
        off.kill()
        on.kill()
    return found


def _round(brokers: Brokers, storm: Storm) -> dict[str, float]:
    server, began, count = brokers.server, time.perf_counter(), 0
    cpu_before = cpu_s(server.pid)
    load = start_paced(server, connections=FEW, rate=LOOKUP_RATE, topics=MANY_TOPICS, seconds=SECONDS)
    while load.poll() is None:
        time.sleep(max(0.0, began + count / JAVAS_RATE - time.perf_counter()))
        storm.register(brokers)
        count += 1
    paced: Paced = finish_paced(server, load)
    took = time.perf_counter() - began
    return {"p50": paced.p50_us, "p99": paced.p99_us, "sent p99": paced.sent_p99_us, "registrations/s": count / took,
            "cores": (cpu_s(server.pid) - cpu_before) / took}  # fmt: skip


class Scrapers:
    """SCRAPERS connections that hang, one of three in the middle of a request. One that is closed comes again."""

    def __init__(self, port: int) -> None:
        self._http = Http(port)
        self._stack = ExitStack()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.opened = 0
        self.took_s = 0.0

    def __enter__(self) -> Scrapers:
        self._began_s = time.perf_counter()
        self._open = [self._connect(number) for number in range(SCRAPERS)]
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ends.set()
        self._thread.join(20)
        self.took_s = time.perf_counter() - self._began_s
        for one in self._open:
            one.close()

    def _connect(self, number: int) -> socket.socket:
        self.opened += 1
        connection = self._http.connect()
        connection.sendall(SCRAPE[: len(SCRAPE) - number % 3])
        return connection

    def _run(self) -> None:
        """The gate closes the oldest for each new one."""
        for number in itertools.cycle(range(SCRAPERS)):
            if self._ends.wait(AGAIN_S):
                return
            self._open[number].close()
            self._open[number] = self._connect(number)

"""One measurement: a collector reads filled name servers, watches them, and a broker goes and comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.collect.collector import Collector
from benchmarks.collect.counting import Counting
from benchmarks.failures import CellFailed
from benchmarks.loading.brokers import Brokers, Shape, send
from benchmarks.loading.registrations import broker_host, broker_name
from benchmarks.servers.process import cpu_s
from interop.harness import codes

POLL_S = 0.25
# A round takes topics / rate; a collector that needs so many times as long fails.
PATIENCE = 4.0
# Kept up by a server for as long as a dead broker seems alive: no collector may send them.
NEVER = {codes.QUERY_DATA_VERSION, codes.BROKER_HEARTBEAT, codes.REGISTER_BROKER, codes.GET_TOPICS_BY_CLUSTER}


@dataclass
class Span:
    """What happened between two moments. The name server's figures are of the first one."""

    what: str
    took_s: float = 0.0
    server_cpu_s: float = 0.0
    collect_cpu_s: float = 0.0
    collect_mb: float = 0.0
    highest_mb: float = 0.0
    lookups: int = 0
    other_requests: int = 0
    answered_bytes: int = 0
    journal_bytes: int = 0


class Watch:
    """Totals of the name server, the collector and the relay between them; `span` closes a span and begins the next."""

    def __init__(self, collector: Collector, brokers: Brokers, counting: Counting) -> None:
        self._collector, self._brokers, self._counting = collector, brokers, counting
        self.spans: list[Span] = []
        self._before = self._totals()

    def _totals(self) -> dict[str, float]:
        asked = self._counting.asked.copy()
        lookups = asked.pop(codes.GET_ROUTEINFO_BY_TOPIC, 0)
        return {
            "took_s": time.monotonic(), "server_cpu_s": cpu_s(self._brokers.server.pid),
            "collect_cpu_s": self._collector.cpu_s(), "lookups": lookups, "other_requests": sum(asked.values()),
            "answered_bytes": self._counting.answered_bytes, "journal_bytes": self._collector.journal_bytes(),
        }  # fmt: skip

    def span(self, what: str) -> None:
        now = self._totals()
        grown: dict[str, Any] = {name: value - self._before[name] for name, value in now.items()}
        mb, highest_mb = self._collector.resident_mb(), self._collector.highest_mb()
        self.spans.append(Span(what, **grown, collect_mb=mb, highest_mb=highest_mb))
        self._before = now


def measured(fleet: Sequence[Brokers], shape: Shape, per_second: float, seconds: float, folder: Path) -> dict[str, Any]:
    """A collector from its start: the first round, some quiet seconds, and as many after a broker went and came."""
    with ExitStack() as stack:
        countings = [Counting(one.server.port, shape.topics) for one in fleet]
        for one in countings:
            stack.callback(one.close)
        collector = Collector([one.port for one in countings], per_second, folder)
        stack.callback(collector.stop)
        watch = Watch(collector, fleet[0], countings[0])
        _wait_for_a_round(countings, collector, PATIENCE * shape.topics / per_second + 60)
        watch.span("the first round: everything is read")
        for what, change in {"nothing changes": _nothing, "a broker of all topics unregisters": _leave,
                             "it registers again": _join}.items():  # fmt: skip
            for brokers in fleet:
                change(brokers, shape)
            time.sleep(seconds)
            collector.check_alive()
            watch.span(what)
        asked = sum((one.asked for one in countings[1:]), countings[0].asked)
        if wrong := NEVER & asked.keys():
            raise CellFailed(f"it sent {sorted(wrong)}")
        return {"name_servers": len(fleet), "per_second": per_second, "spans": [asdict(one) for one in watch.spans],
                "asked": {str(code): count for code, count in sorted(asked.items())},
                "connections": [one.connections for one in countings]}  # fmt: skip


def _wait_for_a_round(countings: Sequence[Counting], collector: Collector, at_most_s: float) -> None:
    deadline = time.monotonic() + at_most_s
    while not all(one.rounds_s for one in countings):
        collector.check_alive()
        if time.monotonic() > deadline:
            raise CellFailed(f"it has not read everything in {at_most_s:.0f} s")
        time.sleep(POLL_S)


def _nothing(_brokers: Brokers, _shape: Shape) -> None:
    """A quiet fleet."""


def _leave(brokers: Brokers, _shape: Shape) -> None:
    ext = {"brokerName": broker_name(0), "brokerAddr": f"{broker_host(0)}:10911", "brokerId": "0",
           "clusterName": "DefaultCluster"}  # fmt: skip
    brokers.clients[0].request(codes.UNREGISTER_BROKER, ext)


def _join(brokers: Brokers, shape: Shape) -> None:
    send(brokers.server, brokers.clients[0], shape.frame(0))


def alone(brokers: Brokers, seconds: float) -> dict[str, float]:
    """CPU a second of the name server while nobody asks it."""
    before = cpu_s(brokers.server.pid)
    time.sleep(seconds)
    return {"seconds": seconds, "server_cpu_s": cpu_s(brokers.server.pid) - before}

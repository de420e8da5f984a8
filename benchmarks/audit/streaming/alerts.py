"""From a fault to the line in the file of alerts, in real time: real name servers, real sockets, the real stream."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.audit.streaming.name_servers import HEARTBEAT_S, NAMES, Registrar, servers
from interop.harness.process import Process
from rocketns.pipeline.cli.progress import Progress

KINDS = ("partition", "divergence")
CLOSED, STOPPED = "closed", "stopped"
# Two gaps of heartbeats, after which the stream knows their period.
SETTLED_S = 2 * HEARTBEAT_S + 10
# Between two faults: no divisor of the period, so that they come at different moments between two heartbeats.
APART_S = 7.3
LOOK_S = 0.05
# What is still waited for after the last line can be due.
SPARE_S = 60.0


class Fault(NamedTuple):
    """``at`` and ``lost``: when it was made, and when the first heartbeat is lost; epoch s."""

    what: str
    broker: str
    ns: str
    at: float
    lost: float


class Told(NamedTuple):
    """A line of the alerts, and when it was there; epoch s."""

    at: float
    line: dict[str, Any]


class Alerts:
    """The lines of the file, each with the time at which it was seen."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0
        self.told: list[Told] = []

    def look(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        self._read += len(new)
        self.told += [Told(time.time(), json.loads(line)) for line in new.splitlines()]

    def is_told(self, broker: str) -> bool:
        """Whether there is an alert of each kind about the broker."""
        return all(self.opened(kind, broker) is not None for kind in KINDS)

    def opened(self, kind: str, broker: str) -> float | None:
        """When the first alert of the kind about the broker was there."""
        lines = (told for told in self.told if (told.line["event"], told.line["kind"]) == ("open", kind))
        return next((told.at for told in lines if told.line.get("broker") == broker), None)


def measured(folder: Path, cases: int, timeout_s: float, say: Progress) -> list[dict[str, Any]]:
    """``cases`` of each fault, one broker each; a row for each fault. As many brokers have none."""
    with running(folder, 4 * cases, timeout_s, say) as (registrar, alerts):
        watch(alerts, registrar, SETTLED_S)
        faults = []
        for number in range(2 * cases):
            what, ns = (CLOSED, STOPPED)[number % 2], NAMES[number // 2 % len(NAMES)]
            broker = registrar.brokers[2 * number]  # the others are heard everywhere, between them
            faults.append(Fault(what, broker.name, ns, *registrar.part(broker, ns, close=what == CLOSED)))
            say(f"{faults[-1].broker} and {ns}: {what}")
            watch(alerts, registrar, APART_S)
        watch(alerts, registrar, timeout_s + SPARE_S, [fault.broker for fault in faults])
        return [row_of(fault, alerts, folder / "journal") for fault in faults]


@contextmanager
def running(folder: Path, brokers: int, timeout_s: float, say: Progress) -> Iterator[tuple[Registrar, Alerts]]:
    """All processes, which end with it."""
    with ExitStack() as stack:
        registrar = Registrar(servers(folder, stack), brokers, timeout_s)
        stack.callback(registrar.stop)
        words = ("--journal", str(folder / "journal"), "--out", str(folder / "out"))
        stream = Process([sys.executable, "-m", "rocketns", "audit", "stream", *words], folder / "stream.log")
        stack.callback(stream.stop)
        stream.wait_for("alerts go to")
        say("the stream is up")
        yield registrar, Alerts(folder / "out" / "alerts.jsonl")
        if stream.popen.poll() is not None:
            raise RuntimeError(f"the stream ended:\n{stream.text()}")


def watch(alerts: Alerts, registrar: Registrar, seconds: float, awaited: Sequence[str] = ()) -> None:
    """Note lines as they come, for so long or until there is an alert of each kind about the awaited brokers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (awaited and all(map(alerts.is_told, awaited))):
        alerts.look()
        registrar.check()
        time.sleep(LOOK_S)


def row_of(fault: Fault, alerts: Alerts, journal: Path) -> dict[str, Any]:
    """Seconds between what happened and what was told; null if it was not."""
    down = down_at(journal, fault.ns, fault.broker)
    partition, divergence = (alerts.opened(kind, fault.broker) for kind in KINDS)
    return {
        "fault": fault.what, "broker": fault.broker, "ns": fault.ns,
        "fault_to_lost_s": between(fault.at, fault.lost),
        "fault_to_down_s": between(fault.at, down),
        "fault_to_partition_s": between(fault.at, partition),
        "lost_to_partition_s": between(fault.lost, partition),
        "down_to_partition_s": between(down, partition),
        "down_to_divergence_s": between(down, divergence),
    }  # fmt: skip


def between(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else round(end - begin, 2)


def down_at(journal: Path, ns: str, broker: str) -> float | None:
    """The time of the first `down` record of the broker at the name server, epoch s."""
    for path in sorted(journal.glob(f"v=1/*/ns={ns}/*")):
        for line in path.read_text("utf-8").rpartition("\n")[0].splitlines():
            if '"down"' in line and broker in line:
                return int(json.loads(line)["ts"]) / 1e6
    return None

"""What a look at a fleet asks of a Java name server, and costs it: the figures of docs/see-your-own-fleet.md.

    python -m benchmarks.collect.trying pipx run --spec dist/rocketns-….whl rocketns

runs each command of that page by the words given, against Java 5.5.0 with one real broker, and with a simulated fleet.
A relay counts requests by code; CPU time is that of the name server's process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.collect.counting import Counting
from benchmarks.collect.fleets import filled
from benchmarks.loading.brokers import Shape
from benchmarks.loading.registrations import topic
from benchmarks.servers.kinds import JAVA
from benchmarks.servers.process import cpu_s
from interop.harness.rocketmq.brokers import Broker
from interop.harness.servers import JavaNameServer

FLEET = Shape(brokers=300, topics=2_000, width=8)
COLLECTED = "60s"
# NAME is a name server, TOPIC one that is there, FOLDER an empty folder.
COMMANDS = (
    "get brokers -n NAME",
    "get route TOPIC -n NAME",
    "health -n NAME",
    "diff NAME AGAIN --settle 0",
    "doctor NAME",
    "doctor NAME --topic TOPIC",
    f"collect --name-servers NAME --journal FOLDER --for {COLLECTED}",
)
IDLE_S = 20


def run(program: Sequence[str], port: int, pid: int, known: str, topics: int) -> None:
    """A line for each command: requests by code, bytes, CPU time of the name server, seconds, exit status."""
    before = cpu_s(pid)
    time.sleep(IDLE_S)
    print(f"CPU time while nobody looks: {1000 * (cpu_s(pid) - before) / IDLE_S:.1f} ms a second", flush=True)
    for command in COMMANDS:
        counting, again = Counting(port, topics), Counting(port, topics)
        with tempfile.TemporaryDirectory() as folder:
            named = {"NAME": f"127.0.0.1:{counting.port}", "AGAIN": f"127.0.0.1:{again.port}", "TOPIC": known}
            words = [named.get(word, word).replace("FOLDER", folder) for word in command.split()]
            before, began = cpu_s(pid), time.monotonic()
            done = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
            took, used = time.monotonic() - began, cpu_s(pid) - before
        counting.close()
        again.close()
        asked = ", ".join(f"{code}: {count:,}" for code, count in sorted(counting.asked.items()))
        figures = f"{counting.answered_bytes:,} | {1000 * used:.0f} | {took:.1f} | {done.returncode}"
        print(f"| `{command}` | {asked} | {figures} |", flush=True)
        if done.returncode > 1:
            print(done.stdout[-600:], done.stderr[-600:])


@contextmanager
def one_broker(folder: Path) -> Iterator[tuple[int, int]]:
    """A Java name server with a real broker: its port and process id."""
    server = JavaNameServer(folder / "ns")
    broker = Broker(folder / "broker", "broker-a", f"127.0.0.1:{server.port}")
    try:
        yield server.port, server.pid
    finally:
        broker.kill()
        server.kill()


def main(program: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("one real broker, Java 5.5.0")
        with one_broker(Path(folder)) as (port, pid):
            run(program, port, pid, "TBW102", 10)
        print(f"{FLEET}, Java 5.5.0")
        with filled(1, FLEET, Path(folder), (JAVA,)) as [brokers]:
            run(program, brokers.server.port, brokers.server.pid, topic(7), FLEET.topics)


if __name__ == "__main__":
    main(sys.argv[1:])

"""``python -m benchmarks.fleet``: how long the comparison of name servers holds control, at both sides.

Two name servers of one process, one of which reads the other as that many peers, by the addresses of the loopback
network. Each callback of an event loop is measured in CPU time of its thread, so a busy machine measures the same.
What is printed is the longest one by name, of some rounds in which nothing else happens: no registration, no lookup.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from benchmarks.loading.brokers import Shape
from interop.harness import codes
from interop.harness.wire import Client
from tests.soak.live import LiveServer

READS, IS_READ = "reads", "is read"


class Longest:
    """The longest CPU time of each kind of callback, in milliseconds, by the side's name."""

    def __init__(self) -> None:
        self.sides: dict[int, str] = {}
        self.ms: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._run = asyncio.Handle._run  # type: ignore[attr-defined]
        asyncio.Handle._run = self._measured()  # type: ignore[attr-defined]

    def _measured(self) -> object:
        def run(handle: asyncio.Handle) -> None:
            began_ns = time.thread_time_ns()
            self._run(handle)
            took_ms = (time.thread_time_ns() - began_ns) / 1e6
            side = self.sides.get(threading.get_ident())
            if side is not None:
                found = self.ms[side]
                name = _name(handle._callback)  # type: ignore[attr-defined]
                found[name] = max(found[name], took_ms)

        return run


def _name(callback: object) -> str:
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return getattr(task.get_coro(), "__qualname__", "?")
    return getattr(callback, "__qualname__", repr(type(callback)))


def main() -> None:
    """Measure once where both sides are alike, and once where the reader lacks half of the brokers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=30, help="brokers of each topic (default: 30)")
    parser.add_argument("--peers", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0, help="of one measurement (default: 12)")
    given = parser.parse_args()
    logging.disable()  # hundreds of events of the comparison
    longest = Longest()
    shape = Shape(given.brokers, given.topics, given.width)
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as folder, ExitStack() as stack:
        read = stack.enter_context(LiveServer(Path(folder, "a"), bindAddress="0.0.0.0"))
        peers = ";".join(f"127.0.0.{number + 1}:{read.port}" for number in range(given.peers))
        reader = stack.enter_context(LiveServer(Path(folder, "b"), **{"rocketns.peers": peers}))
        clients = [stack.enter_context(one.connect()) for one in (read, reader)]
        for what, lacking in (("half of the brokers are missing", given.brokers // 2), ("all alike", 0)):
            for number in range(given.brokers):
                frame = shape.frame(number)
                for client in clients if number >= lacking else clients[:1]:
                    _register(client, frame)
            gc.collect()
            longest.sides = {one.call(threading.get_ident): side for one, side in ((read, IS_READ), (reader, READS))}
            time.sleep(given.seconds / 2)  # the second reading of each difference, and its events
            longest.ms.clear()
            time.sleep(given.seconds)
            _say(what, reader, longest)
            longest.sides = {}


def _register(client: Client, frame: bytes) -> None:
    client.send(frame)
    assert client.receive().code == codes.SUCCESS


def _say(what: str, reader: LiveServer, longest: Longest) -> None:
    state = reader.controller.fleet.state
    print(f"{what}: {len(state.disagreements)} disagreements and {state.omitted} not listed")
    for side in (IS_READ, READS):
        most = sorted(longest.ms[side].items(), key=lambda one: -one[1])[:4]
        print(f"  the server that {side}: " + ", ".join(f"{name} {ms:.2f} ms" for name, ms in most))


if __name__ == "__main__":
    main()

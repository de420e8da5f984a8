"""rocketns twice: without a management port, and with one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from benchmarks.loading.brokers import Brokers, Shape
from benchmarks.servers.kinds import DEFAULT, Launch, ServerKind, all_kinds
from benchmarks.servers.running import Needs, Server
from interop.harness.ports import free_port

OFF, ON = "off", "on"
CALLGRIND = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "--trace-children=no")


def start(folder: Path, *, admin_port: int = 0, prefix: Sequence[str] = ()) -> Server:
    """A running server. ``prefix`` are words before its command."""

    def command(launch: Launch) -> list[str]:
        words = all_kinds()[DEFAULT].command(launch)
        if admin_port:
            with Path(words[-1]).open("a", encoding="utf-8") as properties:
                properties.write(f"rocketns.adminPort={admin_port}\n")
        return [*prefix, *words]

    return Server(ServerKind(f"{ON if admin_port else OFF}", functools.partial(command), lambda: None), folder, Needs())


def pair(folder: Path) -> tuple[Server, Server, int]:
    """A server without the port, one with it, and the port."""
    port = free_port()
    return start(folder / OFF), start(folder / ON, admin_port=port), port


def registered(server: Server, shape: Shape) -> Brokers:
    """The shape's brokers, registered."""
    brokers = Brokers(server)
    for number in range(shape.brokers):
        brokers.register(number, shape.frame(number))
    return brokers

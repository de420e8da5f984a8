"""Clients in other languages: programs with the arguments and the printed lines of the Java producer and consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from interop.harness.clients import JavaClient
from interop.harness.process import Process

Start = Callable[..., JavaClient]


def start_program(home: Path, name: str, command: list[str], env: dict[str, str] | None = None) -> JavaClient:
    """Start a program in a folder of its own; READY, SENT, GOT and DONE mean what they mean in Java's."""
    home.mkdir(parents=True, exist_ok=True)
    return JavaClient(Process(command, home / f"{name}.log", {"HOME": str(home)} | (env or {}), cwd=home))


def programs(home: Path) -> Iterator[Start]:
    """``start(name, command, env)``; whatever still runs afterwards is killed. The body of a fixture."""
    started: list[JavaClient] = []

    def start(name: str, command: list[str], env: dict[str, str] | None = None) -> JavaClient:
        started.append(start_program(home / name, name, command, env))
        return started[-1]

    yield start
    for one in started:
        one.kill()

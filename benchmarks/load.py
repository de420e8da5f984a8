"""Route lookups: nsload.c, compiled where the benchmark runs, and what it reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.plan import CONNECTIONS
from interop.harness.servers import NameServer

SOURCE = Path(__file__).with_name("nsload.c")
# Its own limits end it long before.
TIMEOUT_S = 180


class LoadFailed(RuntimeError):
    """No compiler, or a load that did not get good answers only."""


@dataclass(frozen=True)
class RouteLoad:
    """One run of nsload."""

    requests: int
    errors: int
    per_second: float
    p50_us: float
    p99_us: float
    answer_bytes: float
    cpu_us_per_request: float


class Generator:
    """The compiled load program."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise LoadFailed("the benchmark needs a C compiler: cc was not found on the PATH")
        self.program = folder / "nsload"
        subprocess.run([compiler, "-O2", "-o", str(self.program), str(SOURCE)], check=True, timeout=TIMEOUT_S)

    def lookups(self, server: NameServer, *, depth: int, encoding: str, topics: int, seconds: float) -> RouteLoad:
        """Random lookups for a time, or with ``seconds`` 0 one of each topic. LoadFailed on any bad answer."""
        numbers = (server.port, server.pid, CONNECTIONS, depth, encoding, topics, seconds)
        command = [str(self.program), *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise LoadFailed(f"{server.kind}: {done.stderr.strip()}")
        load = RouteLoad(**json.loads(done.stdout))
        if load.errors or not load.requests:
            raise LoadFailed(f"{server.kind}: {load.errors} of {load.requests} answers held no route")
        return load

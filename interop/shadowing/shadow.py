"""A running `rocketns shadow`: its counts, its processes, its switch, and who is connected to it."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually

ANSWER_WITHIN_S = 30.0
READY_WITHIN_S = 180.0
# A broker registers every 10 s here. What differs before that is counted as warming.
SETTLE_S = 25


class Shadow(NameServer):
    """Started on construction, in front of a name server of this machine. Clients and brokers use it like one."""

    kind = "shadow"

    def __init__(self, home: Path, upstream: NameServer, port: int = 0) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.upstream, self.supervisor = home, upstream, None
        self.port, self.status_port = port or free_port(), free_port()
        self.start()

    def start(self) -> None:
        self.process = Process(self.command(), self.home / "stdout.log", cwd=self.home)
        try:
            eventually(lambda: self.is_ready() and self.half, READY_WITHIN_S)
        except BaseException:
            self.process.kill()
            raise

    def command(self) -> list[str]:
        places = ("--upstream", f"127.0.0.1:{self.upstream.port}", "-p", str(self.port))
        status = ("--status", f"127.0.0.1:{self.status_port}", "--settle", f"{SETTLE_S}s")
        return [sys.executable, "-m", "rocketns", "shadow", *places, *status]

    def is_ready(self) -> bool:
        """Whether it answers; it must not have ended."""
        assert self.process.popen.poll() is None, self.process.text()[-4000:]
        try:
            self.status()
            self.connect().close()
        except OSError:
            return False
        return True

    def status(self) -> dict[str, Any]:
        """What `/api/counts` says."""
        with urllib.request.urlopen(self._url("/api/counts"), timeout=ANSWER_WITHIN_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def outcomes(self) -> Counter[str]:
        """How many pairs had which outcome so far, and how many were ``skipped``."""
        status = self.status()
        of_requests = (Counter(numbers) for numbers in status["requests"].values())
        return sum(of_requests, Counter(skipped=status["skipped"]))

    def waiting(self) -> int:
        """How many requests have no outcome yet. A few stay: frames of clients that ask nothing."""
        status = self.status()
        relay, judged = status["relay"], sum(sum(numbers.values()) for numbers in status["requests"].values())
        return int(relay["requests"] - relay["oneway"] - relay["alone"] - status["skipped"] - judged)

    def switch(self, to: str) -> None:
        """`rocketns switch`: serve or pass."""
        command = [sys.executable, "-m", "rocketns", "switch", "--status", f"127.0.0.1:{self.status_port}", to]
        done = Process(command, self.home / "switch.log")
        assert done.wait(ANSWER_WITHIN_S) == 0, done.text()

    @property
    def children(self) -> list[psutil.Process]:
        """The processes that it started."""
        return psutil.Process(self.pid).children(recursive=True)

    @property
    def half(self) -> psutil.Process | None:
        """The rocketns whose answers are compared; None while there is none."""
        return next((one for one in self.children if _listening(one)), None)

    @property
    def judge(self) -> psutil.Process | None:
        """The process that compares."""
        half = self.half
        return next((one for one in self.children if half is not None and one.pid != half.pid), None)

    def connect_to_half(self) -> Client:
        """A connection past the relay: what it changes is not in the upstream."""
        assert self.half is not None
        return Client(_listening(self.half)[0])

    def connected(self, *processes: Process) -> set[int]:
        """The own ports of these processes' connections to the shadow."""
        connections = [c for one in processes for c in psutil.Process(one.pid).net_connections("tcp")]
        return {
            int(c.laddr.port)
            for c in connections
            if c.raddr and c.raddr.port == self.port and c.status == psutil.CONN_ESTABLISHED
        }

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.status_port}{path}"


def _listening(process: psutil.Process) -> list[int]:
    """The ports that a process listens on."""
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:
        return []
    return [int(c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN]

"""A name server of any kind as a process on a free loopback port; ready once it has answered a request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.failures import EXPECTED, CellFailed, reason
from benchmarks.servers.kinds import Launch, ServerKind
from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.wire import Client

START_TIMEOUT_S = 60.0
POLL_S = 0.002
ANSWER_TIMEOUT_S = 30.0
JAVA_HEAP_MB = 512


@dataclass(frozen=True)
class Needs:
    """What a part needs its servers to be started with."""

    body: bytes = b"x"
    java_heap_mb: int = JAVA_HEAP_MB
    tls: bool = False


class Server:
    """A running server, started on construction. ``start_s`` is the time from exec to the first answer."""

    def __init__(self, kind: ServerKind, home: Path, needs: Needs) -> None:
        home.mkdir(parents=True)
        self.kind = kind
        self.port = free_port()
        command = kind.command(Launch(home, self.port, needs.java_heap_mb, needs.body, needs.tls))
        began = time.perf_counter()
        self.process = Process(command, home / "output", {"ROCKETMQ_HOME": str(home), "HOME": str(home)}, cwd=home)
        try:
            self._wait_for_answer(began + START_TIMEOUT_S)
        except BaseException:
            self.kill()  # no process is left after a failed start or Ctrl-C
            raise
        self.start_s = time.perf_counter() - began

    def _wait_for_answer(self, deadline: float) -> None:
        while True:
            if self.process.popen.poll() is not None:
                raise CellFailed(f"did not start: exit status {self.process.popen.returncode}: {self._last_words()}")
            try:
                with Client(self.port, timeout_s=START_TIMEOUT_S) as client:
                    answer = client.request(codes.GET_BROKER_CLUSTER_INFO)
                    if answer.code != codes.SUCCESS:
                        raise CellFailed(f"its first answer has code {answer.code}")
                    return
            except ConnectionError:
                if time.perf_counter() > deadline:
                    raise CellFailed(f"no answer within {START_TIMEOUT_S:.0f} s of its start") from None
            time.sleep(POLL_S)

    def _last_words(self) -> str:
        lines = self.process.text().strip().splitlines()
        return lines[-1] if lines else "no output"

    @property
    def pid(self) -> int:
        return self.process.pid

    def connect(self) -> Client:
        return Client(self.port, timeout_s=ANSWER_TIMEOUT_S)

    def check_alive(self) -> None:
        """CellFailed if the process has ended."""
        status = self.process.popen.poll()
        if status is not None:
            raise CellFailed(f"the server ended with status {status}: {self._last_words()}")

    def kill(self) -> None:
        self.process.kill()


@contextmanager
def running(kinds: list[ServerKind], folder: Path, needs: Needs, failed: dict[str, str]) -> Iterator[list[Server]]:
    """One server of each kind, all killed at the end. ``failed`` gets the reason for each that did not start."""
    with ExitStack() as stack:
        servers = []
        for kind in kinds:
            try:
                servers.append(Server(kind, folder / kind.key, needs))
                stack.callback(servers[-1].kill)
            except EXPECTED as error:
                failed[kind.key] = reason(error)
        yield servers

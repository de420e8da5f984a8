"""Child processes with their output in a file: start, wait for a line, stop by id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0


class ProcessFailed(AssertionError):
    """A process ended, or printed nothing in time. The text has the end of its output and the exit status."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Process:
    """A started program. Its standard output and error are appended to ``output``."""

    command: list[str]
    output: Path
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    pass_fds: tuple[int, ...] = ()
    popen: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with self.output.open("ab") as out:
            self._seen = out.tell()
            self.popen = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=os.environ | self.env, cwd=self.cwd, pass_fds=self.pass_fds,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.popen.pid

    def text(self) -> str:
        """Its output since it started."""
        return self.output.read_bytes()[self._seen :].decode("utf-8", "replace")

    def wait_for(self, pattern: str, within_s: float = START_TIMEOUT_S) -> re.Match[str]:
        """The first match of a regular expression in its output."""
        deadline = time.monotonic() + within_s
        while True:
            over = self.popen.poll() is not None or time.monotonic() > deadline
            if match := re.search(pattern, self.text()):
                return match
            if over:
                said = f"{pattern!r} never printed by {self.command[:3]}…\n{self.text()[-4000:]}"
                raise ProcessFailed(said, self.popen.poll())
            time.sleep(0.02)

    def wait_for_start(self, pattern: str, within_s: float = START_TIMEOUT_S) -> re.Match[str]:
        """Likewise. Without a match, or after Ctrl-C, no process is left: nothing else knows it yet."""
        try:
            return self.wait_for(pattern, within_s)
        except BaseException:
            self.kill()
            raise

    def wait(self, within_s: float = STOP_TIMEOUT_S) -> int:
        return self.popen.wait(within_s)

    def signal(self, number: signal.Signals) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def stop(self) -> int:
        """SIGTERM, then SIGKILL if it does not end in time; the exit status."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        self.signal(signal.SIGKILL)
        return self.wait()

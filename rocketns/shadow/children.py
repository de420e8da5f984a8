"""A process of the shadow that is started again with a pause when it ends, and what it says."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

log = logging.getLogger("rocketns.shadow")

# Before the next start; it doubles after each run that was shorter than GOOD_RUN_S.
PAUSE_S, PAUSE_S_MAX, GOOD_RUN_S = 1.0, 30.0, 60.0
STOP_WITHIN_S = 5.0
# A longer line of its output is cut.
LINE_BYTES_MAX = 16 * 1024
# Peers decide how much it says. Further lines in this time are left out.
LINES_MAX, LINES_S = 50, 1.0

Process = asyncio.subprocess.Process


class Child:
    """`run` is a task of its own; `stop` ends it and the process.

    ``spawn`` starts the process, whose standard output is piped to ``line``, and whose standard input ends with this
    process. ``ended`` is called after each end.
    """

    def __init__(
        self, name: str, spawn: Callable[[], Awaitable[Process]], line: Callable[[str], None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._name, self._spawn, self._line, self._ended = name, spawn, line, ended
        self.process: Process | None = None
        self._stops = False
        self.starts = 0

    async def run(self) -> None:
        """Start it again and again."""
        loop, pause_s = asyncio.get_running_loop(), PAUSE_S
        while not self._stops:
            began = loop.time()
            status = await self._run_once()
            self._ended()
            if self._stops:
                return
            pause_s = PAUSE_S if loop.time() - began >= GOOD_RUN_S else pause_s
            log.error("%s ended (%s): it starts again in %g s. Passing through goes on", self._name, status, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(PAUSE_S_MAX, pause_s * 2)

    async def _run_once(self) -> str:
        try:
            self.process = process = await self._spawn()
        except OSError as error:
            return f"it could not be started: {error}"
        self.starts += 1
        if self._stops:  # meanwhile: nobody else ends it
            self.kill()
        if process.stdout is not None:
            await lines(process.stdout, self._line)
        return f"status {await process.wait()}"

    def kill(self) -> None:
        """End it at once; it is started again."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()

    def stop_after_this(self) -> None:
        """It is not started again."""
        self._stops = True

    async def stop(self) -> None:
        """End it for good: with SIGTERM, and if that takes long with SIGKILL."""
        self._stops = True
        process = self.process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_WITHIN_S)
        except TimeoutError:
            self.kill()
            await process.wait()


class ChildLines:
    """LINES_MAX lines in LINES_S are logged; others are counted, which the next line says."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._name, self._now = name, now
        self._since = float("-inf")
        self._lines = self._left_out = 0

    def log(self, line: str) -> None:
        """One line of its output."""
        now = self._now()
        if now - self._since >= LINES_S:
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines > LINES_MAX:
            self._left_out += 1
            return
        if self._left_out:
            log.info("%s: %d more lines were left out", self._name, self._left_out)
            self._left_out = 0
        log.info("%s: %s", self._name, line)


async def lines(stream: asyncio.StreamReader, take: Callable[[str], None]) -> None:
    """Each line of a process' output, to its end."""
    rest = b""
    while data := await stream.read(LINE_BYTES_MAX):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            take(line.decode("utf-8", "replace"))
        if len(rest) > LINE_BYTES_MAX:
            take(rest.decode("utf-8", "replace"))
            rest = b""


async def spawned(arguments: Sequence[str], stdin: int) -> Process:
    """A process with its output piped. It has a session of its own, so that Ctrl-C of a terminal reaches only us."""
    return await asyncio.create_subprocess_exec(
        *arguments, stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip

"""Runs `rocketns replay` and returns its exit status."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from rocketns.addresses import split
from rocketns.client.tls import client_context
from rocketns.config.system import system_properties
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError
from rocketns.shadow.recording.file import Recording, in_time
from rocketns.shadow.replaying.choosing import Choice, Pace
from rocketns.shadow.replaying.connection import Connection
from rocketns.shadow.replaying.options import EXIT_DIFFERENT, EXIT_SAME, EXIT_UNUSABLE, parse
from rocketns.shadow.replaying.playing import Player
from rocketns.shadow.replaying.report import as_json, report
from rocketns.shadow.replaying.result import Result
from rocketns.tools.output import complain, print_json, print_report

INTERRUPTED = 130
PROGRESS_EVERY_S = 2.0


def main(arguments: Sequence[str]) -> int:
    """``arguments`` without the word replay."""
    try:
        options = parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_UNUSABLE
    try:
        result = asyncio.run(_run(options))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, RocketnsError, ExceptionGroup) as error:
        if (trouble := _trouble(error)) is None:
            raise
        complain(f"rocketns replay: {trouble}")
        return EXIT_UNUSABLE
    return _finish(options, result)


def _finish(options: Namespace, result: Result) -> int:
    if options.json:
        print_json(as_json(result, options.to))
    else:
        print_report(report(result, options.to))
    if not result.number:
        complain("rocketns replay: nothing was compared; --all sends requests that change something, too")
        return EXIT_UNUSABLE
    return EXIT_DIFFERENT if result.unwanted else EXIT_SAME


def _trouble(error: Exception) -> str | None:
    """What is wrong with the file or the name server, also out of a task; None for an error of another kind."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return (str(error) or type(error).__name__) if isinstance(error, OSError | RocketnsError) else None


async def _run(options: Namespace) -> Result:
    recording = Recording(options.file)
    host, port = split(options.to)
    assert port is not None
    config = TlsConfig.read(system_properties(os.environ, dict(options.system)), {})
    tls = client_context(config) if config.enable else None

    async def open_one() -> Connection:
        return await Connection.open(host, port, tls, options.timeout)

    clock = asyncio.get_running_loop().time
    pace = Pace(clock, asyncio.sleep, per_second=options.rate, as_recorded=options.as_recorded)
    player = Player(
        open_one, Choice(options.only, options.all), pace, asyncio.sleep, settle_s=options.settle,
        lanes=options.connections,
    )  # fmt: skip
    player.tell = Progress(clock, recording.size_bytes, player.result, sys.stderr.isatty())
    return await player.play(in_time(recording.pairs()))


class Progress:
    """Says on standard error how far the replay is, where that is a terminal."""

    def __init__(self, now: Callable[[], float], size_bytes: int, result: Result, is_shown: bool) -> None:
        self._now, self._size_bytes, self._result, self._is_shown = now, size_bytes, result, is_shown
        self._next_s = now() + PROGRESS_EVERY_S

    def __call__(self, end: int) -> None:
        """The file was played up to ``end``."""
        if self._is_shown and self._now() >= self._next_s:
            self._next_s = self._now() + PROGRESS_EVERY_S
            done = 100 * end // max(1, self._size_bytes)
            complain(f"{done} %: {self._result.sent} requests sent, {self._result.unwanted} differ")

"""``python -m rocketns.shadow.judge``: started by `rocketns shadow`, and by nobody else."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rocketns.config.system import parse_definition
from rocketns.logs import start_logging
from rocketns.shadow.judge.asking import Asker
from rocketns.shadow.judge.judging import Judge
from rocketns.shadow.judge.process import run
from rocketns.shadow.judge.starting import SETTLE_S
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import NOTICE, Pair
from rocketns.shadow.recording.file import Recorder

log = logging.getLogger("rocketns.shadow")

# A judge that was started again does not write over what the one before it wrote.
FILES_MAX = 100


def main(arguments: Sequence[str]) -> int:
    """Run until the relay ends the stream. It does not end by Ctrl-C of the terminal: the relay ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = _parser().parse_args(arguments)
    writer = start_logging("INFO")
    tape = Tape(options.record, hash_names=options.hash_names)
    try:
        asyncio.run(_run(options, tape))
    finally:
        tape.close()
        writer.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rocketns.shadow.judge", description="A part of `rocketns shadow`.")
    add = parser.add_argument
    add("--upstream", required=True)
    add("--reference")
    add("--settle", type=float, default=SETTLE_S)
    add("--record", type=Path)
    add("--record-hash-names", dest="hash_names", action="store_true")
    add("-D", dest="system", action="append", default=[], type=parse_definition)
    return parser


async def _run(options: argparse.Namespace, tape: Tape) -> None:
    asker = Asker(options.upstream, options.reference, dict(options.system))
    await run(Judge(options.settle), asker, tape.take, tape.flush)


class Tape:
    """Without a path it does nothing."""

    def __init__(self, path: Path | None, *, hash_names: bool = False) -> None:
        self._recorder = None if path is None else _opened(path, hash_names)

    def take(self, pair: Pair, outcome: Outcome | None) -> None:
        """Write a pair. ``outcome`` is None where it is asked again."""
        if self._recorder is None or pair.connection == NOTICE:
            return
        try:
            self._recorder.record(pair, outcome)
        except OSError as error:
            log.error("the recording ends: %s", error)
            self._recorder = None

    def flush(self) -> None:
        """Nothing that was written is lost if this process is killed."""
        try:
            if self._recorder is not None:
                self._recorder.flush()
        except OSError as error:
            log.error("the recording ends: %s", error)
            self._recorder = None

    def close(self) -> None:
        """End the recording, and log how many pairs it does not have."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            recorder.close()
        except OSError as error:
            log.error("the end of the recording is lost: %s", error)
        log.info("recorded %d pairs; %d found no room, and %d cannot be read", recorder.recorded,
                 recorder.without_room, recorder.unreadable)  # fmt: skip


def _opened(path: Path, hash_names: bool) -> Recorder | None:
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(2, FILES_MAX))]
    for name in names:
        try:
            return Recorder(name, hash_names=hash_names)
        except FileExistsError:
            continue
        except OSError as error:
            log.error("nothing is recorded: %s", error)
            return None
    log.error("nothing is recorded: %s and %d files like it exist", path, FILES_MAX)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

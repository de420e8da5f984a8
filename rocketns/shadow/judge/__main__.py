"""``python -m rocketns.shadow.judge``: started by `rocketns shadow`, and by nobody else."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from rocketns.config.system import parse_definition
from rocketns.logs import start_logging
from rocketns.shadow.judge.asking import Asker
from rocketns.shadow.judge.judging import Judge
from rocketns.shadow.judge.process import run
from rocketns.shadow.judge.starting import SETTLE_S


def main(arguments: Sequence[str]) -> int:
    """Run until the relay ends the stream. It does not end by Ctrl-C of the terminal: the relay ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = _parser().parse_args(arguments)
    writer = start_logging("INFO")
    try:
        asyncio.run(_run(options))
    finally:
        writer.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rocketns.shadow.judge", description="A part of `rocketns shadow`.")
    add = parser.add_argument
    add("--upstream", required=True)
    add("--reference")
    add("--settle", type=float, default=SETTLE_S)
    add("-D", dest="system", action="append", default=[], type=parse_definition)
    return parser


async def _run(options: argparse.Namespace) -> None:
    asker = Asker(options.upstream, options.reference, dict(options.system))
    await run(Judge(options.settle), asker)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

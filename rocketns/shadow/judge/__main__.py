"""``python -m rocketns.shadow.judge``: started by `rocketns shadow`, and by nobody else."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from rocketns.config.texts.system import parse_definition
from rocketns.logs import start_logging
from rocketns.shadow.judge.asking import Asker
from rocketns.shadow.judge.judging import SETTLE_S, Judge
from rocketns.shadow.judge.process import run


def command(upstream: str, reference: str | None, settle_s: float, system: dict[str, str]) -> list[str]:
    """The arguments of its process, whose standard input is the socket of the pairs."""
    words = [sys.executable, "-m", "rocketns.shadow.judge", "--upstream", upstream, "--settle", str(settle_s)]
    words += ["--reference", reference] if reference is not None else []
    return words + [f"-D{name}={value}" for name, value in system.items()]


def main(arguments: Sequence[str]) -> int:
    """Run until the relay ends the stream. It does not end by Ctrl-C of the terminal: the relay ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="rocketns.shadow.judge", description="A part of `rocketns shadow`.")
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--reference")
    parser.add_argument("--settle", type=float, default=SETTLE_S)
    parser.add_argument("-D", dest="system", action="append", default=[], type=parse_definition)
    options = parser.parse_args(arguments)
    writer = start_logging("INFO")
    try:
        asyncio.run(_run(options))
    finally:
        writer.stop()
    return 0


async def _run(options: argparse.Namespace) -> None:
    asker = Asker(options.upstream, options.reference, dict(options.system))
    await run(Judge(options.settle), asker, lambda pair, outcome: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

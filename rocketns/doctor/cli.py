"""`rocketns doctor` as a program: options, Ctrl-C, exit status."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from rocketns.doctor.arguments import build, options_of
from rocketns.doctor.asking.gathering import gather
from rocketns.doctor.output import report_json, report_text
from rocketns.doctor.report import run
from rocketns.languages.parsers import parse
from rocketns.tools.keys import read_signer, tls_context, tls_of
from rocketns.tools.output import complain, print_json, print_text, run_command


def main(arguments: Sequence[str]) -> int:
    """Examine, print the report; return the exit status. SystemExit of argparse."""
    return run_command("rocketns doctor", partial(_run, parse(build, arguments, "doctor")))


def _run(parsed: Namespace) -> int:
    context = tls_context(tls_of(parsed, os.environ))
    options = options_of(parsed, os.environ, tls=context is not None)
    signer = read_signer(os.environ)
    report = run(asyncio.run(gather(options, context, signer, _say)))
    if parsed.json:
        print_json(report_json(report))
    else:
        is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
        is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: it is closed
        print_text(report_text(report, coloured=is_terminal and not is_plain))
    return report.exit_status


def _say(text: str) -> None:
    """What is done now, on a terminal."""
    if sys.stderr.isatty():
        complain(f"{text} …")

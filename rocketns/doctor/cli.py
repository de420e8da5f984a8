"""`rocketns doctor` as a program: options, signals, exit status."""

from __future__ import annotations

import asyncio
import errno
import io
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import TextIO

from rocketns.client.tls import client_context
from rocketns.config.tls import TlsConfig
from rocketns.doctor.arguments import build, options_of
from rocketns.doctor.asking.gathering import LookTimer, gather
from rocketns.doctor.facts import DoctorOptions
from rocketns.doctor.output import report_json, report_text
from rocketns.doctor.report import EXIT_CANNOT_TELL, Report, run
from rocketns.errors import RocketnsError
from rocketns.languages.parsers import parse
from rocketns.tools.keys import read_signer, tls_of
from rocketns.tools.output import complain, print_json, print_text

BY_SIGNAL = 128  # a shell's exit status of a program that a signal ended, plus the signal's number


def main(arguments: Sequence[str]) -> int:
    """Examine, print the report; return the exit status."""
    try:
        given = parse(build, arguments, "doctor")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_CANNOT_TELL
    logging.getLogger("rocketns").addHandler(logging.NullHandler())
    try:
        _prepare(sys.stdout)
        status = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # `rocketns doctor … | head`
        _discard_output()
        return BY_SIGNAL + signal.SIGPIPE
    except (RocketnsError, OSError) as error:  # OSError: the disk that the output is written to is full
        complain(f"rocketns doctor: {error}")
        _discard_output()
        return EXIT_CANNOT_TELL
    return status


def _prepare(stdout: TextIO | None) -> None:
    """What the encoding of the output lacks is escaped. OSError where standard output is closed."""
    if stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """When Python ends, it writes the rest of standard output: to nowhere, or that would fail once more."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(given: Namespace) -> int:
    tls = tls_of(given, os.environ)
    _check_files(tls)
    options = options_of(given, os.environ, tls=tls.enable)
    report = asyncio.run(_examine(options, tls))
    if isinstance(report, signal.Signals):
        return BY_SIGNAL + report
    if given.json:
        print_json(report_json(report))
    else:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
        print_text(report_text(report, coloured=sys.stdout.isatty() and not plain))
    return report.exit_status


def _check_files(tls: TlsConfig) -> None:
    """Otherwise they would look like connections that fail. OSError, or a RocketnsError."""
    try:
        if tls.enable:
            client_context(tls)
    except FileNotFoundError:  # OpenSSL does not say which
        files = " ".join(
            file for file in (tls.client.trust_cert_path, tls.client.cert_path, tls.client.key_path) if file
        )
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), files) from None
    except ValueError as error:
        raise OSError(str(error)) from error


async def _examine(options: DoctorOptions, tls: TlsConfig) -> Report | signal.Signals:
    """The report, or the signal that ended the asking."""
    stopping = _Stopping()
    try:
        signer = read_signer(os.environ)
        facts = await gather(options, tls, signer, _say, stopping.watch)
    except asyncio.CancelledError:
        if stopping.by is None:
            raise
        return stopping.by
    return run(facts)


def _say(text: str) -> None:
    """What is done now, on a terminal."""
    if sys.stderr.isatty():
        complain(f"{text} …")


class _Stopping:
    """SIGINT ends the watching, and the report has what was seen. Otherwise a signal ends the asking."""

    def __init__(self) -> None:
        self.watch = LookTimer()
        self.by: signal.Signals | None = None
        self._task = asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, partial(self._on, number))

    def _on(self, number: signal.Signals) -> None:
        if number is signal.SIGINT and self.watch.is_on:
            self.watch.end()
            return
        self.by = number
        if self._task is not None:
            self._task.cancel()

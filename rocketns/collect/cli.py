"""`rocketns collect` as a program: options, log, signals, exit status."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rocketns.collect.arguments import parse
from rocketns.collect.collector import Collector
from rocketns.collect.settings import Settings, every_named
from rocketns.errors import RocketnsError, StartupError
from rocketns.journal.segments import Store
from rocketns.logs import start_logging
from rocketns.tools.arguments import shown
from rocketns.tools.output import complain

log = logging.getLogger("rocketns.collect")

EXIT_WATCHED, EXIT_MISSING, EXIT_WRONG = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    """Run until a signal, or for the time that was asked for; return the exit status. SystemExit of argparse."""
    try:
        settings = parse(arguments, os.environ)
        settings = replace(settings, name_servers=asyncio.run(every_named(settings.name_servers)))
        check_folder(settings.journal, [one.ns for one in settings.name_servers])
    except RocketnsError as error:
        complain(f"rocketns collect: {error}")
        return EXIT_WRONG
    root = logging.getLogger()
    before = root.handlers, root.level
    writer = start_logging("INFO")
    try:
        return asyncio.run(collect(settings))
    finally:
        writer.stop()
        root.handlers, root.level = before  # `rocketns audit run --name-servers` goes on


async def collect(settings: Settings) -> int:
    """Watch until a signal, or for the time that was asked for. The exit status."""
    log.info("times in this log are GMT+8, as in the log of the Java name server")
    names = ", ".join(f"{ns} ({addr})" for ns, addr in settings.name_servers)
    log.info("watching%s; journals are in %s: %s",
             "" if settings.for_s is None else f" for {shown(settings.for_s)}", settings.journal, names)  # fmt: skip
    collector = Collector(settings)
    watching = asyncio.create_task(collector.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, watching.cancel)
    ended, _ = await asyncio.wait((watching,), timeout=settings.for_s)
    watching.cancel()
    await asyncio.wait((watching,))
    if not watching.cancelled() and (error := watching.exception()) is not None:
        raise error
    return exit_status(collector, is_stopped=bool(ended))


def exit_status(collector: Collector, *, is_stopped: bool) -> int:
    """What the journals lack is in the log. Whoever stopped it knows that it may have been too early."""
    status = EXIT_WATCHED
    for upstream in collector.upstreams:
        if not upstream.boots:
            log.warning("%s was never read whole, so its journal has nothing of this time: %s", upstream.name,
                        "; ".join(upstream.errors.values()) or "there was not enough time")  # fmt: skip
        if upstream.journal.is_cut:
            log.error("the end of the journal of %s could not be written: the log says above why", upstream.name)
        if upstream.journal.is_cut or not (upstream.boots or is_stopped):
            status = EXIT_MISSING
    return status


def check_folder(journal: str, ns_names: Iterable[str]) -> None:
    """Make the folder, and try to be the only writer in it for these ids. StartupError."""
    for ns in ns_names:
        store = Store(Path(journal), ns)
        try:
            descriptor = store.lock()
        except BlockingIOError:
            raise StartupError(f"another process writes the journal of {ns} in {journal}: end it, or give this name "
                              "server another name, NAME=HOST:PORT") from None  # fmt: skip
        except (OSError, ValueError) as error:
            raise StartupError(
                f"the journal's folder {journal} cannot be written: {getattr(error, 'strerror', None) or error}"
            ) from None
        os.close(descriptor)

"""NamesrvStartup: arguments → configuration → controller → exit status."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns import cli
from rocketns._fast.system.process import release_large_blocks
from rocketns.config import Configuration, properties
from rocketns.config.system import system_properties
from rocketns.errors import StartupError, check_installed
from rocketns.logs import LogWriter, escape, one_line, start_logging
from rocketns.namesrv_controller import NamesrvController
from rocketns.server import listening, process
from rocketns.server.process import Supervisor, be_nicer

if TYPE_CHECKING:
    from rocketns.addressserver.server import AddressServer
    from rocketns.admin.server import AdminServer
    from rocketns.admin.view import Log

log = logging.getLogger("rocketns.main")

# New objects before the garbage collector runs. A broker's first registration makes 20,000 objects that stay. With
# Python's default of 700 the collector would walk them 30 times, and sometimes the whole tables.
GC_YOUNG_OBJECTS = 20_000
GC_YOUNG_ROUNDS, GC_OLD_ROUNDS = 20, 50
# How much nicer the control thread is than the reactors.
CONTROL_NICENESS = 5
# Projects of the management port's libraries, by their modules.
ADMIN_NEEDS = {"aiohttp": "aiohttp", "prometheus_client": "prometheus-client"}


def main(arguments: Sequence[str]) -> int:
    """Run until a signal; return the exit status."""
    options = cli.parse(arguments)
    system = system_properties(os.environ, dict(options.system))
    home = Path(system.get("user.home") or Path.home())
    try:
        configuration = _configure(options, system, home)
        if options.print_config_items:
            for name, value in configuration.items().items():
                print(escape(f"{name}={properties.shown(name, value)}"))
            return 0
        return _run_logged(configuration, options, home)
    except StartupError as error:
        print(one_line(f"rocketns cannot start: {error}"), file=sys.stderr)
        return error.exit_status


def _configure(options: Namespace, system: Mapping[str, str], home: Path) -> Configuration:
    configuration = Configuration.build(options.config_file, home=home, system=system, environment=os.environ)
    if options.reactors is not None:
        configuration.limits.reactors = options.reactors
    if options.config_file is not None:
        _say(f"load config properties file OK, {options.config_file}")
    return configuration


def _run_logged(configuration: Configuration, options: Namespace, home: Path) -> int:
    process.ignore_others()
    try:
        folder = home / "logs" / "rocketmqlogs" if options.log_files else None  # as Java's
        listener = start_logging(options.log_level, folder, as_json=options.log_format == "json")
    except OSError as error:
        raise StartupError(f"the log file cannot be written: {error}") from error
    try:
        if options.log_format != "json":
            log.info("times in this log are GMT+8, as in the log of the Java name server")
        return asyncio.run(_serve(configuration, listener))
    finally:
        listener.stop()


async def _serve(configuration: Configuration, log_writer: LogWriter) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    release_large_blocks()
    gc.disable()  # a start makes up to millions of objects that stay, and hardly any garbage
    supervisor = Supervisor(os.environ, os.getpid())
    controller = NamesrvController(configuration, passed=listening.passed(os.environ, os.getpid()))
    admin, address_server = make_ports(controller, CONTROL_NICENESS, log_writer)
    ports: list[AdminServer | AddressServer] = [port for port in (admin, address_server) if port is not None]
    if supervisor.alive_every_ms:  # if control hangs, the supervisor sends SIGABRT, which prints all stacks and ends it
        faulthandler.enable()
        controller.every(supervisor.alive_every_ms, "supervisor", supervisor.alive)
    if admin is not None:
        admin.start()
    process.reread_at_sighup(partial(_reread, controller, ports, log_writer, supervisor))
    if await _started(controller, stop):
        process.print_stacks_at_sigquit(lambda: controller.facts.counts() | {"log records": log_writer.waiting})
        _settle_down()
        if address_server is not None:
            address_server.serve()
        await _serve_until(stop, controller, supervisor)
    await controller.stop()
    for port in ports:
        port.stop()
    return 0


def make_ports(
    controller: NamesrvController, niceness: int = 0, log_writer: Log | None = None
) -> tuple[AdminServer | None, AddressServer | None]:
    """The management port and the address server, bound and not started; None for one that no property asks for.

    StartupError if a library is missing, or an address cannot be had.
    """
    configuration, admin, address_server = controller.configuration, None, None
    if admin_port := configuration.admin.admin_port:
        check_installed(f"rocketns.adminPort={admin_port}", "admin", ADMIN_NEEDS)
        from rocketns.admin.server import AdminServer  # its libraries take 25 MB

        admin = AdminServer(controller.facts, niceness, log_writer)
    if configuration.discovery.address_server:
        check_installed("rocketns.addressServer", "admin", {"aiohttp": "aiohttp"})
        from rocketns.addressserver.server import AddressServer  # its library takes 20 MB

        address_server = AddressServer(configuration, controller.port, controller.tls)
    return admin, address_server


async def _serve_until(stop: asyncio.Event, controller: NamesrvController, supervisor: Supervisor) -> None:
    """From the boot line to the end of a graceful shutdown, which a second signal cuts short."""
    _say(controller.boot_line())
    controller.log_warnings()
    supervisor.ready(controller.boot_line())
    await stop.wait()
    supervisor.stopping()
    stop.clear()
    await controller.go_away(stop)


async def _started(controller: NamesrvController, stop: asyncio.Event) -> bool:
    """Whether the server started before a signal stopped it: reading the routes may take long. StartupError."""
    starting, stopping = asyncio.ensure_future(controller.start()), asyncio.ensure_future(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if starting.done():
        starting.result()
        return True
    log.info("stopped before the start was complete")
    starting.cancel()
    await asyncio.wait({starting})
    return False


def _reread(
    controller: NamesrvController, ports: list[AdminServer | AddressServer], log_writer: LogWriter,
    supervisor: Supervisor,
) -> None:  # fmt: skip
    """SIGHUP: open the log file again, re-read TLS files, tokens and the live part of the configuration."""
    supervisor.reloading()
    log_writer.reopen()
    controller.reread()
    for port in ports:
        port.reread()
    supervisor.reloaded()


def _settle_down() -> None:
    """Done after the start, which is short and shares the machine with no request.

    The objects of the start stay until the end, so the collector never walks them again. The reactors have priority
    over this thread, the control thread, if both want the same core: a registration of 10,000 topics takes
    milliseconds, and a lookup that comes meanwhile would wait for the end of the control thread's time slice.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(GC_YOUNG_OBJECTS, GC_YOUNG_ROUNDS, GC_OLD_ROUNDS)
    be_nicer(CONTROL_NICENESS)


def _say(line: str) -> None:
    """Write the line to standard output in one piece, because the log thread writes there too."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError):  # the server also runs if nobody reads the line
            os.write(sys.stdout.fileno(), f"{one_line(line)}\n".encode("utf-8", "backslashreplace"))

"""Runs one command and returns its exit status."""

from __future__ import annotations

import asyncio
import logging
import os
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from importlib.resources import files

from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.signer import Signer
from rocketns.config.system import system_properties
from rocketns.config.tls import TlsConfig
from rocketns.protocol.codes import SerializeType
from rocketns.tools.arguments import check_addrs, parse
from rocketns.tools.decode.capture import CaptureError
from rocketns.tools.decode.reading import FormError
from rocketns.tools.diff import diff
from rocketns.tools.get import get, health
from rocketns.tools.keys import KeysError, read_signer
from rocketns.tools.output import EXIT_FOUND, EXIT_UNREADABLE, complain, print_text
from rocketns.tools.reading import each
from rocketns.tools.top import top

INTERRUPTED = 130
ONE_SERVER = {"get": get, "health": health}


def main(arguments: Sequence[str]) -> int:
    """`rocketns get …` and so on; the first argument is the command."""
    try:
        options = parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_UNREADABLE
    if options.command == "completion":
        print_text(completion(options.shell))
        return EXIT_FOUND
    logging.getLogger("rocketns").addHandler(logging.NullHandler())
    try:
        return _chosen(options)
    except BrokenPipeError:  # `rocketns get topics | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return INTERRUPTED
    except (KeysError, FormError, CaptureError, OSError) as error:
        complain(f"rocketns {options.command}: {error}")
        return EXIT_UNREADABLE
    except ExceptionGroup as errors:
        for one in errors.exceptions:
            complain(f"rocketns {options.command}: {one}")
        return EXIT_UNREADABLE
    except KeyboardInterrupt:
        return INTERRUPTED


def _chosen(options: Namespace) -> int:
    """Each command imports what it needs alone: a health check is quick."""
    if options.command == "access":
        from rocketns.tools.access.run import run as access

        return access(options)
    if options.command == "decode":
        from rocketns.tools.decode.showing import decode

        return decode(options)
    least = 1 if options.command == "top" else 2
    if options.command not in ONE_SERVER and (wrong := check_addrs(options.addrs, least)):
        complain(f"rocketns {options.command}: {wrong}")
        return EXIT_UNREADABLE
    return asyncio.run(_run(options, read_signer(options.tools_yml, os.environ)))


async def _run(options: Namespace, signer: Signer | None) -> int:
    tls = TlsConfig.read(system_properties(os.environ, dict(options.system)), {})
    client = RemotingClient(lambda: tls, options.timeout)
    try:
        if options.command in ONE_SERVER:
            server = _server(client, options.addr, options, signer)
            (status,) = await each([server], partial(ONE_SERVER[options.command], options))
            return status
        run = {"diff": diff, "top": top}[options.command]
        return await run(options, [_server(client, addr, options, signer) for addr in options.addrs])
    finally:
        client.close()


def completion(shell: str) -> str:
    """The script for a shell, one of `arguments.SHELLS`. A build makes it, so that no shell waits for Python at Tab."""
    return (files("rocketns.tools") / "completions" / f"rocketns.{shell}").read_text("utf-8")


def _server(client: RemotingClient, addr: str, options: Namespace, signer: Signer | None) -> NameServer:
    return NameServer(client, addr, SerializeType.JSON, options.timeout, signer)

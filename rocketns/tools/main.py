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
from rocketns.client.resolving import every_address
from rocketns.client.signer import Signer
from rocketns.protocol.codes import SerializeType
from rocketns.tools.arguments import check_addrs, parse
from rocketns.tools.decode.capture import CaptureError
from rocketns.tools.decode.reading import FormError
from rocketns.tools.diff import diff
from rocketns.tools.get import get, health
from rocketns.tools.keys import KeysError, read_signer, tls_of
from rocketns.tools.output import EXIT_FOUND, EXIT_UNREADABLE, complain, print_text
from rocketns.tools.reading import each
from rocketns.tools.top import top

INTERRUPTED = 130
ONE_SERVER = {"get": get, "health": health}
SEVERAL_SERVERS = {"diff": diff, "top": top}


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
    return asyncio.run(_run(options, read_signer(options.tools_yml, os.environ)))


async def _run(options: Namespace, signer: Signer | None) -> int:
    tls = tls_of(options, os.environ)
    client = RemotingClient(lambda: tls, options.timeout)
    given = options.addrs if options.command in SEVERAL_SERVERS else [options.addr] if options.addr else []
    addrs = [one for addr in given for one in await every_address(addr)]
    if len(addrs) > len(given):
        complain(f"a name has several addresses, and each is a name server: {', '.join(addrs)}")
    servers = [NameServer(client, addr, SerializeType.JSON, options.timeout, signer) for addr in addrs]
    try:
        if options.command in ONE_SERVER:
            return max([(await each([server], partial(ONE_SERVER[options.command], options)))[0] for server in servers])
        if options.command == "views":
            from rocketns.tools.views import check  # it reads views, which other commands need not

            if not servers:
                return await check(options, None)
            return max([(await each([server], partial(check, options)))[0] for server in servers])
        if wrong := check_addrs(addrs, 1 if options.command == "top" else 2):
            complain(f"rocketns {options.command}: {wrong}")
            return EXIT_UNREADABLE
        return await SEVERAL_SERVERS[options.command](options, servers)
    finally:
        client.close()


def completion(shell: str) -> str:
    """The script for a shell, one of `arguments.SHELLS`. A build makes it, so that no shell waits for Python at Tab."""
    return (files("rocketns.tools") / "completions" / f"rocketns.{shell}").read_text("utf-8")

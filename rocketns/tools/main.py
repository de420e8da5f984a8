"""Runs one command and returns its exit status."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.resources import files

from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import every_address
from rocketns.errors import RocketnsError
from rocketns.languages.parsers import parse
from rocketns.protocol.codes import SerializeType
from rocketns.tools.arguments import SERVERS_MAX, build
from rocketns.tools.diff import diff, each
from rocketns.tools.get import get, health
from rocketns.tools.keys import read_signer, tls_of
from rocketns.tools.output import EXIT_FOUND, complain, print_text, run_command
from rocketns.tools.top import top

# Commands that ask several name servers at once, and how many they need.
SEVERAL = {"diff": (diff, 2), "top": (top, 1)}


def main(arguments: Sequence[str]) -> int:
    """`rocketns get …` and so on; the first argument is the command. SystemExit of argparse."""
    options = parse(build, arguments, "help")
    command = f"rocketns {options.command} {getattr(options, 'thing', '')}".rstrip()
    return run_command(command, partial(_run, options))


def _run(options: Namespace) -> int:
    """Each command imports what it needs alone: a health check is quick."""
    match options.command, getattr(options, "thing", ""):
        case "completion", _:
            # A build makes it, so that no shell waits for Python at Tab.
            print_text((files("rocketns.tools") / "completions" / f"rocketns.{options.shell}").read_text("utf-8"))
            return EXIT_FOUND
        case "access", "check":
            from rocketns.tools.checking import check_policy

            return check_policy(options)
        case "access", _:
            from rocketns.tools.access.suggestion import suggest

            return suggest(options)
        case "decode", _:
            from rocketns.tools.decode.showing import decode

            return decode(options)
        case "views", _:
            from rocketns.tools.checking import check_views

            return asyncio.run(_ask(options, check_views) if options.addrs else check_views(options, None))
        case "health", _:
            return asyncio.run(_ask(options, health))
        case _:
            return asyncio.run(_ask(options, get))


async def _ask(options: Namespace, one: Callable[[Namespace, NameServer], Awaitable[int]]) -> int:
    """``one`` asks each name server by itself."""
    signer, tls = read_signer(os.environ), tls_of(options, os.environ)
    client = RemotingClient(lambda: tls, options.timeout)
    given = [addr for word in options.addrs for addr in word]
    addrs = [address for addr in given for address in await every_address(addr)]
    if len(addrs) > len(given):
        complain(f"a name has several addresses, and each is a name server: {', '.join(addrs)}")
    servers = [NameServer(client, addr, SerializeType.JSON, options.timeout, signer) for addr in addrs]
    try:
        if options.command not in SEVERAL:
            return max([(await each([server], partial(one, options)))[0] for server in servers])
        several, least = SEVERAL[options.command]
        if not least <= len(addrs) <= SERVERS_MAX:
            raise RocketnsError(f"{least} to {SERVERS_MAX} name servers expected")
        if len(set(addrs)) < len(addrs):
            raise RocketnsError("a name server is named twice")
        return await several(options, servers)
    finally:
        client.close()

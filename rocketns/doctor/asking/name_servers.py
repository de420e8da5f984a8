"""Asks one name server all that is needed of it."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Container
from dataclasses import replace

from rocketns.addresses import split
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.own import is_own
from rocketns.client.reading import NO_FRAME
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.signer import Fields, Signer
from rocketns.doctor.asking.requests import Budget, topics_to_look_up
from rocketns.doctor.asking.tables import Tables
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import Outcome
from rocketns.protocol.codes import RequestCode, SerializeType
from rocketns.protocol.command import RemotingCommand

# After these the other one of TLS and plain is tried, once.
MAY_BE_TLS = (Outcome.CLOSED, Outcome.SILENT)

# Of several addresses of one host asyncio raises one OSError without a number; its text has all of them.
_ERRNO = re.compile(r"\[Errno (-?[0-9]{1,5})\]")
_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN, errno.EADDRNOTAVAIL}


class Counted(NameServer):
    """A name server whose requests are counted, and refused beyond the budget."""

    def __init__(
        self, client: RemotingClient, addr: str, options: Options, signer: Signer | None, budget: Budget
    ) -> None:
        # Connecting has a time of its own, so that it ends before the waiting for an answer does.
        super().__init__(client, addr, SerializeType.JSON, 2 * options.timeout_s, signer)
        self._budget = budget

    async def ask(
        self, code: RequestCode, fields: Fields, also: Container[int] | None = (), bytes_max: int | None = None
    ) -> RemotingCommand:
        """See `NameServer.ask`."""
        self._budget.spend(self.addr, code)
        return await super().ask(code, fields, also, bytes_max)


async def read_name_server(server: NameServer, other: NameServer, options: Options) -> NameServerFacts:
    """All that it says. ``other`` is the same one, with TLS where ``server`` is without, and the other way round."""
    facts = await _reached(server, options)
    if facts.outcome in MAY_BE_TLS and await _answers(other):
        return replace(facts, outcome=Outcome.SPEAKS_PLAIN if options.tls else Outcome.SPEAKS_TLS)
    return facts


async def _reached(server: NameServer, options: Options) -> NameServerFacts:
    ips, error = await _resolved(server.addr)
    if error:
        return NameServerFacts(server.addr, Outcome.UNRESOLVED, error)
    is_here = await is_own(server.addr, split(server.addr)[1] or 0)
    tables = Tables(server)
    try:
        await tables.brokers()
    except UnusableError as failed:
        return NameServerFacts(server.addr, outcome_of(failed), str(failed), ips, is_here)
    await tables.rest(topics_to_look_up(options))
    return NameServerFacts(server.addr, Outcome.ANSWERED, tables.error, ips, is_here, **tables.found)


async def _answers(server: NameServer) -> bool:
    try:
        await server.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {}, None)
    except UnusableError:
        return False
    return True


async def _resolved(addr: str) -> tuple[tuple[str, ...], str]:
    """The IP addresses of a host, and why there are none."""
    host, port = split(addr)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:  # ValueError: a host that cannot be one
        return (), str(error)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found)), ""


def outcome_of(error: BaseException) -> Outcome:
    """What an error of `RemotingClient` means, or of one of its causes."""
    for cause in _causes(error):
        match cause:
            case socket.gaierror():
                return Outcome.UNRESOLVED
            case ssl.SSLError():
                return Outcome.CLOSED
            case TimeoutError() if cause.errno is None:
                return Outcome.SILENT if str(error).startswith("no answer") else Outcome.TIMED_OUT
            case OSError():
                return _of_system(cause)
            case _:
                pass
    return Outcome.OTHER_PROTOCOL if NO_FRAME in str(error) else Outcome.CLOSED


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        error = error.__cause__
    return found


def _of_system(error: OSError) -> Outcome:
    numbers = {error.errno} if error.errno is not None else {int(one) for one in _ERRNO.findall(str(error))}
    if numbers == {errno.ECONNREFUSED}:
        return Outcome.REFUSED
    if numbers & _UNREACHABLE:
        return Outcome.UNREACHABLE
    return Outcome.TIMED_OUT if errno.ETIMEDOUT in numbers else Outcome.CLOSED

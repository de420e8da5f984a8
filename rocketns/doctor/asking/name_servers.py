"""Asks one name server all that is needed of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Container
from dataclasses import replace

from rocketns.addresses import split
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.own import is_own
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.signer import Fields, Signer
from rocketns.doctor.asking.budget import Budget
from rocketns.doctor.asking.outcomes import outcome_of
from rocketns.doctor.asking.requests import topics_to_look_up
from rocketns.doctor.asking.tables import Tables
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import Outcome
from rocketns.protocol.codes import RequestCode, SerializeType
from rocketns.protocol.command import RemotingCommand

# After these the other one of TLS and plain is tried, once.
MAY_BE_TLS = (Outcome.CLOSED, Outcome.SILENT)


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

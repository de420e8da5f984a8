"""Gathers all facts: name servers first, then the addresses and brokers that they show."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from rocketns.client.remoting_client import RemotingClient
from rocketns.client.signer import Signer
from rocketns.config.tls import TlsConfig
from rocketns.doctor.asking.brokers.reading import ask_brokers
from rocketns.doctor.asking.name_servers import Counted, read_name_server
from rocketns.doctor.asking.requests import LOOKS_OF_SUSPICION, Budget, looks, name_server_budget
from rocketns.doctor.asking.watching import Watch, look_again
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.progress import Progress
from rocketns.doctor.words import _


async def gather(options: Options, tls: TlsConfig, signer: Signer | None, progress: Progress, watch: Watch) -> Facts:
    """Ask, and give what was found. ``watch`` ends the looking again early."""
    budget = name_server_budget(options)
    flipped = replace(tls, enable=not tls.enable)
    with closing(_client(options, tls)) as client, closing(_client(options, flipped)) as other:
        servers = [Counted(client, addr, options, signer, budget) for addr in options.name_servers]
        name_servers = await _read_all(servers, other, options, signer, budget, progress)
        found = await ask_brokers(options, name_servers, tls, signer, progress)
        facts = Facts(options, tuple(name_servers), found.addresses, found.brokers, found.left_out)
        rounds, ends_early = looks(options), False
        if not rounds and any(facts.unknown_at()):
            rounds, ends_early = LOOKS_OF_SUSPICION, True
        facts = await look_again(servers, facts, progress, watch, rounds, ends_early=ends_early)
    return replace(facts, requests=(budget.requests("name servers"), *found.requests))


async def _read_all(
    servers: Sequence[Counted], other: RemotingClient, options: Options, signer: Signer | None, budget: Budget,
    progress: Progress,
) -> list[NameServerFacts]:  # fmt: skip
    progress.stage(_("asking name servers"), len(servers))
    reading = (
        read_name_server(server, Counted(other, server.addr, options, signer, budget), options) for server in servers
    )
    return await asyncio.gather(*map(progress.counted, reading))


def _client(options: Options, tls: TlsConfig) -> RemotingClient:
    return RemotingClient(lambda: tls, options.timeout_s, failures=logging.DEBUG)

"""Gathers all facts: name servers first, then the addresses and brokers that they show, then changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import every_address
from rocketns.client.signer import Signer
from rocketns.config.tls import TlsConfig
from rocketns.doctor.asking.brokers import ask_brokers
from rocketns.doctor.asking.name_servers import Counted, read_name_server
from rocketns.doctor.asking.requests import LOOK_EVERY_S, LOOKS_OF_SUSPICION, Budget, looks, name_server_budget
from rocketns.doctor.facts import Facts, Look, NameServerFacts, Options
from rocketns.doctor.progress import Progress
from rocketns.doctor.words import _
from rocketns.fleet.group_view import GroupView, group_views

# Of one name server, in all looks that differ: some 50 MB. Beyond it, looks that show something new are left out.
MEMBERS_MAX = 100_000


class Watch:
    """Whether the watching goes on; a signal ends it early. ``every_s`` is the time between two looks."""

    def __init__(self, every_s: float = LOOK_EVERY_S) -> None:
        self.every_s = every_s
        self.is_on = False
        self._ended = asyncio.Event()

    def end(self) -> None:
        """No look more."""
        self._ended.set()

    async def goes_on(self) -> bool:
        """Wait for the time of the next look. Whether there is to be one."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), self.every_s)
        return not self._ended.is_set()


async def look_again(
    servers: Sequence[NameServer], facts: Facts, progress: Progress, watch: Watch, rounds: int, *, ends_early: bool
) -> Facts:
    """The facts with so many looks more, or fewer if the watch ends. A look that fails is left out.

    ``ends_early``: at the first look that shows other brokers.
    """
    if rounds:
        progress.stage(_("looking again; Ctrl-C ends it"), rounds)
        watch.is_on = True
    for number in range(1, rounds + 1):
        if not await watch.goes_on():
            break
        seen = await progress.counted(_round(servers, facts.name_servers, number * watch.every_s))
        facts = replace(facts, name_servers=tuple(seen))
        if ends_early and any(one.looks and one.looks[-1].groups != one.groups for one in seen):
            break
    watch.is_on = False
    return facts


async def _round(servers: Sequence[NameServer], seen: Sequence[NameServerFacts], at_s: float) -> list[NameServerFacts]:
    return list(await asyncio.gather(*(_looked(*one, at_s) for one in zip(servers, seen, strict=True))))


async def _looked(server: NameServer, seen: NameServerFacts, at_s: float) -> NameServerFacts:
    if not seen.is_readable:
        return seen
    try:
        groups = group_views(await server.groups())
    except UnusableError:
        return seen
    kept = {id(one.groups): one.groups for one in seen.looks}
    same = next((one for one in (seen.groups, *kept.values()) if one == groups), None)
    if same is None and _members(groups, *kept.values()) > MEMBERS_MAX:
        return seen
    return replace(seen, looks=(*seen.looks, Look(at_s, groups if same is None else same)))


def _members(*groups: Mapping[str, GroupView]) -> int:
    return sum(len(group.addrs) for one in groups for group in one.values())


async def gather(options: Options, tls: TlsConfig, signer: Signer | None, progress: Progress, watch: Watch) -> Facts:
    """Ask, and give what was found. ``watch`` ends the looking again early."""
    budget = name_server_budget(options)
    flipped = replace(tls, enable=not tls.enable)
    with closing(_client(options, tls)) as client, closing(_client(options, flipped)) as other:
        names = {each: addr for addr in options.name_servers for each in await every_address(addr)}
        servers = [Counted(client, addr, options, signer, budget) for addr in names]
        name_servers = await _read_all(servers, other, options, signer, budget, progress)
        name_servers = [
            one if names[one.addr] == one.addr else replace(one, name=names[one.addr]) for one in name_servers
        ]
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

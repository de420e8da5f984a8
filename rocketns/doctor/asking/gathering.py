"""Gathers all facts: name servers first, then the addresses and brokers that they show, then changes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from rocketns.client.name_server import Signer
from rocketns.client.resolving import every_address
from rocketns.client.tls import client_context
from rocketns.config.tls import TlsConfig
from rocketns.doctor.asking.brokers import ask_brokers
from rocketns.doctor.asking.connecting import Line
from rocketns.doctor.asking.name_servers import read_groups, read_name_server
from rocketns.doctor.asking.requests import LOOK_EVERY_S, LOOKS_OF_SUSPICION, RequestBudget, looks, name_server_budget
from rocketns.doctor.facts import DoctorOptions, FleetFacts, LaterGroups, NameServerFacts
from rocketns.doctor.progress import ProgressLine
from rocketns.doctor.words import _

# Of one name server, in all looks that differ: some 50 MB. Beyond it, looks that show something new are left out.
MEMBERS_MAX = 100_000


class LookTimer:
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


async def gather(
    options: DoctorOptions, tls: TlsConfig, signer: Signer | None, progress: ProgressLine, watch: LookTimer
) -> FleetFacts:
    """Ask, and give what was found. ``watch`` ends the looking again early. OSError, ValueError or TlsError where the
    files for TLS cannot be used."""
    line = Line(client_context(tls) if tls.enable else None, signer, options.timeout_s)
    budget = name_server_budget(options)
    names = {each: addr for addr in options.name_servers for each in await every_address(addr)}
    progress.stage(_("asking name servers"), len(names))
    reading = (read_name_server(addr, line, budget, options) for addr in names)
    name_servers = [
        one if names[one.addr] == one.addr else replace(one, name=names[one.addr])
        for one in await asyncio.gather(*map(progress.counted, reading))
    ]
    facts = await ask_brokers(options, name_servers, line, progress)
    rounds = looks(options)
    is_suspected = not rounds and any(facts.unknown_at())
    if is_suspected:
        rounds = LOOKS_OF_SUSPICION
    if rounds:
        progress.stage(_("looking again; Ctrl-C ends it"), rounds)
        watch.is_on = True
    for number in range(1, rounds + 1):
        if not await watch.goes_on():
            break
        again = (_looked(one, number * watch.every_s, line, budget) for one in facts.name_servers)
        seen = await progress.counted(asyncio.gather(*again))
        facts = replace(facts, name_servers=tuple(seen))
        if is_suspected and any(one.looks and one.looks[-1].groups != one.groups for one in seen):
            break  # it shows other brokers
    watch.is_on = False
    return replace(facts, requests=(budget.requests("name servers"), *facts.requests))


async def _looked(seen: NameServerFacts, at_s: float, line: Line, budget: RequestBudget) -> NameServerFacts:
    """With one look more. One that fails is left out."""
    groups = await read_groups(seen.addr, line, budget) if seen.is_readable else None
    if groups is None:
        return seen
    kept = {id(one.groups): one.groups for one in seen.looks}
    same = next((one for one in (seen.groups, *kept.values()) if one == groups), None)
    if (
        same is None
        and sum(len(group.addrs) for one in (groups, *kept.values()) for group in one.values()) > MEMBERS_MAX
    ):
        return seen
    return replace(seen, looks=(*seen.looks, LaterGroups(at_s, groups if same is None else same)))

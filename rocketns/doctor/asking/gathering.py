"""Gathers all facts: name servers first, then the addresses and brokers that they show, then changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from rocketns.client.name_server import Signer
from rocketns.client.resolving import every_address
from rocketns.client.tls import client_context
from rocketns.config.tls import TlsConfig
from rocketns.doctor.asking.brokers import ask_brokers
from rocketns.doctor.asking.connecting import Line
from rocketns.doctor.asking.name_servers import read_groups, read_name_server
from rocketns.doctor.asking.requests import LOOK_EVERY_S, LOOKS_OF_SUSPICION, Budget, looks, name_server_budget
from rocketns.doctor.facts import Facts, Look, NameServerFacts, Options
from rocketns.doctor.progress import Progress
from rocketns.doctor.words import _
from rocketns.fleet.group_view import GroupView

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


@dataclass(frozen=True, slots=True)
class Asking:
    """How name servers are asked, and within which budget."""

    line: Line
    budget: Budget
    progress: Progress

    async def read_all(self, addrs: Sequence[str], options: Options) -> list[NameServerFacts]:
        """All that each says."""
        self.progress.stage(_("asking name servers"), len(addrs))
        reading = (read_name_server(addr, self.line, self.budget, options) for addr in addrs)
        return await asyncio.gather(*map(self.progress.counted, reading))

    async def look_again(self, facts: Facts, watch: Watch, rounds: int, *, ends_early: bool) -> Facts:
        """The facts with so many looks more, or fewer if the watch ends. A look that fails is left out.

        ``ends_early``: at the first look that shows other brokers.
        """
        if rounds:
            self.progress.stage(_("looking again; Ctrl-C ends it"), rounds)
            watch.is_on = True
        for number in range(1, rounds + 1):
            if not await watch.goes_on():
                break
            looks = (self._looked(one, number * watch.every_s) for one in facts.name_servers)
            seen = await self.progress.counted(asyncio.gather(*looks))
            facts = replace(facts, name_servers=tuple(seen))
            if ends_early and any(one.looks and one.looks[-1].groups != one.groups for one in seen):
                break
        watch.is_on = False
        return facts

    async def _looked(self, seen: NameServerFacts, at_s: float) -> NameServerFacts:
        groups = await read_groups(seen.addr, self.line, self.budget) if seen.is_readable else None
        if groups is None:
            return seen
        kept = {id(one.groups): one.groups for one in seen.looks}
        same = next((one for one in (seen.groups, *kept.values()) if one == groups), None)
        if same is None and _members(groups, *kept.values()) > MEMBERS_MAX:
            return seen
        return replace(seen, looks=(*seen.looks, Look(at_s, groups if same is None else same)))


def _members(*groups: Mapping[str, GroupView]) -> int:
    return sum(len(group.addrs) for one in groups for group in one.values())


async def gather(options: Options, tls: TlsConfig, signer: Signer | None, progress: Progress, watch: Watch) -> Facts:
    """Ask, and give what was found. ``watch`` ends the looking again early. OSError, ValueError or TlsError where the
    files for TLS cannot be used."""
    line = Line(client_context(tls) if tls.enable else None, signer, options.timeout_s)
    asking = Asking(line, name_server_budget(options), progress)
    names = {each: addr for addr in options.name_servers for each in await every_address(addr)}
    name_servers = [
        one if names[one.addr] == one.addr else replace(one, name=names[one.addr])
        for one in await asking.read_all(tuple(names), options)
    ]
    facts = await ask_brokers(options, name_servers, line, progress)
    rounds, ends_early = looks(options), False
    if not rounds and any(facts.unknown_at()):
        rounds, ends_early = LOOKS_OF_SUSPICION, True
    facts = await asking.look_again(facts, watch, rounds, ends_early=ends_early)
    return replace(facts, requests=(asking.budget.requests("name servers"), *facts.requests))

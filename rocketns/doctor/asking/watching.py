"""Looks at the brokers of the name servers again and again: brokers that share a name and an id take turns there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.doctor.asking.requests import LOOK_EVERY_S
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Look, NameServerFacts
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

"""From what senders asked for to principals: those that need the same are one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocketns.access.policy_values import ITEMS_MAX
from rocketns.access.principal import Network
from rocketns.tools.access.networks import joined, plain
from rocketns.tools.access.suggesting.seen import Needs, Seen, Sender


@dataclass(frozen=True, slots=True)
class Suggested:
    """A principal. ``first`` and ``last`` are epoch us. ``part``: of the networks of those that need the same."""

    key: str | None
    is_admin: bool
    networks: tuple[Network, ...]
    part: int
    needs: Needs
    senders: int
    requests: int
    first: int
    last: int
    codes: Mapping[int, int]
    reasons: Mapping[str, int]
    taken: frozenset[str]

    @property
    def name(self) -> str:
        """It says who that is; no two have the same one."""
        who = "hosts" if self.key is None else f"key {self.key}"
        more = f" and {len(self.networks) - 1} more" if len(self.networks) > 1 else ""
        part = f" ({self.part})" if self.part > 1 else ""
        return f"{who} {plain(self.networks[0])}{more}{part}" + (" admin" if self.is_admin else "")


def grouped(seen: Mapping[Sender, Seen]) -> list[Suggested]:
    """The principals; those that asked most come first."""
    alike: defaultdict[tuple[str | None, bool, Needs], list[Sender]] = defaultdict(list)
    for sender, one in seen.items():
        if one.requests:
            alike[sender.key, sender.is_admin, one.needs()].append(sender)
    found = [principal for (key, is_admin, needs), senders in alike.items()
             for principal in _principals(key, needs, senders, seen, is_admin=is_admin)]  # fmt: skip
    return sorted(found, key=lambda one: (-one.requests, one.name))


def _principals(
    key: str | None, needs: Needs, senders: list[Sender], seen: Mapping[Sender, Seen], *, is_admin: bool
) -> Iterator[Suggested]:
    for number, part in enumerate(_parts(senders), 1):
        alike = [seen[sender] for sender in part]
        yield Suggested(
            key, is_admin, tuple(joined(sender.network for sender in part)), number, needs, len(part),
            sum(one.requests for one in alike), min(one.first for one in alike), max(one.last for one in alike),
            sum((one.codes for one in alike), Counter()), sum((one.reasons for one in alike), Counter()),
            frozenset().union(*(one.taken for one in alike)),
        )  # fmt: skip


def _parts(senders: Sequence[Sender]) -> list[Sequence[Sender]]:
    """A list of a policy has ITEMS_MAX networks at most."""
    if len(joined(sender.network for sender in senders)) <= ITEMS_MAX:
        return [senders]
    ordered = sorted(senders, key=lambda one: (one.network.version, one.network.network_address.packed))
    return [ordered[at : at + ITEMS_MAX] for at in range(0, len(ordered), ITEMS_MAX)]

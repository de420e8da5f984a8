"""From what senders asked for to principals: those that need the same are one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from rocketns.access.principal import Network
from rocketns.access.reading.values import ITEMS_MAX
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


def plain(network: Network) -> str:
    """A network of one address as that address."""
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)


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
    alike = [seen[sender] for sender in senders]
    networks = _joined(sender.network for sender in senders)
    parts = [tuple(networks[at : at + ITEMS_MAX]) for at in range(0, len(networks), ITEMS_MAX)]
    for number, part in enumerate(parts, 1):
        yield Suggested(
            key, is_admin, part, number, needs, len(senders), sum(one.requests for one in alike),
            min(one.first for one in alike), max(one.last for one in alike),
            sum((one.codes for one in alike), Counter()), sum((one.reasons for one in alike), Counter()),
            frozenset().union(*(one.taken for one in alike)),
        )  # fmt: skip


def _joined(networks: Iterable[Network]) -> list[Network]:
    """The same addresses, in order: all 256 of a /24 are that network."""
    listed = list(networks)
    fours = collapse_addresses(one for one in listed if isinstance(one, IPv4Network))
    sixes = collapse_addresses(one for one in listed if isinstance(one, IPv6Network))
    return [*fours, *sixes]

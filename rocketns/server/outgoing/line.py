"""What waits for its turn, from many connections: they take turns, and the room is shared."""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

from rocketns.server.requests.largest import LargestByHost

Item = TypeVar("Item")


class Asker(Protocol):
    """A connection that something waits for. ``place`` begins with the socket's host, which nobody can announce."""

    def __hash__(self) -> int: ...

    @property
    def place(self) -> tuple[str, str]: ...


class Line(Generic[Item]):
    """At most ``most`` items. When there are more, who has the most of the host with the most gives up its newest.

    Hosts take turns, and the connections of each host.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._hosts: dict[str, dict[Asker, deque[Item]]] = {}  # in the order of their turns
        self._counts: LargestByHost[Asker] = LargestByHost()

    def put(self, asker: Asker, item: Item) -> Item | None:
        """Add an item. Returns the one that is given up, which may be this one."""
        self._hosts.setdefault(asker.place[0], {}).setdefault(asker, deque()).append(item)
        self._count(asker)
        if self._counts.hosts.total <= self._most:
            return None
        longest = self._longest(asker)
        given_up = self._hosts[longest.place[0]][longest].pop()
        self._count(longest)
        return given_up

    def take(self) -> Item | None:
        """The oldest item of the connection whose turn it is. None: there is none."""
        for host, askers in self._hosts.items():
            asker = next(iter(askers))
            items = askers[asker] = askers.pop(asker)
            self._hosts[host] = self._hosts.pop(host)
            item = items.popleft()
            self._count(asker)
            return item
        return None

    def _longest(self, asker: Asker) -> Asker:
        """Who has the most, among equals ``asker``."""
        own = asker.place[0]
        host, most = self._counts.hosts.largest()
        if host is None or self._counts.hosts.bytes_of(own) >= most:
            host = own
        longest, most = self._counts.largest_of(host)
        is_own = host == own and len(self._hosts[own][asker]) >= most
        return asker if is_own or longest is None else longest

    def _count(self, asker: Asker) -> None:
        host = asker.place[0]
        count = len(self._hosts[host][asker])
        self._counts.hold(asker, host, count)
        if count:
            return
        del self._hosts[host][asker]
        if not self._hosts[host]:
            del self._hosts[host]

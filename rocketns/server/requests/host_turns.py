"""Whose turn it is: hosts take turns by what each has cost, and so do the members of a host.

A host is the host of a socket. Its members are its connections. A PROXY header announces a host: then this announced
host is the member, and its connections share the turns of that member. Any peer can announce any host, so a peer that
announces many still has the time of one host. Peers behind a proxy do not wait for each other's crowds.
"""

from __future__ import annotations

from typing import Any, Generic

from rocketns.server.requests.shares import Key, Shares


class HostTurns(Generic[Key]):
    """A key is in one place: its socket's host, and the announced host or that of the socket again. It is no tuple."""

    __slots__ = ("_hosts", "_within", "wanting")

    def __init__(self) -> None:
        self._hosts: Shares[str] = Shares()
        self.wanting = self._hosts.wanting  # the hosts that want a turn; others only read it
        self._within: dict[Any, Shares[Any]] = {}  # by socket host, and by socket host and announced host

    @property
    def next_estimate_ns(self) -> int:
        """The estimated cost of the next turn. IndexError if no key wants one."""
        return self._hosts.next_estimate_ns

    def want(self, key: Key, place: tuple[str, str], estimate_ns: int) -> None:
        """The key wants a turn of about this length."""
        host, announced = place
        members = self._members(host)
        if announced == host:
            members.want(key, estimate_ns)
        else:
            connections = self._members(place)
            connections.want(key, estimate_ns)
            members.want(place, connections.next_estimate_ns)
        self._hosts.want(host, members.next_estimate_ns)

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        member: Key = self._within[self._hosts.next()].next()
        if type(member) is tuple:
            member = self._within[member].next()
        return member

    def charge(self, key: Key, place: tuple[str, str], cost_ns: int, wants_more: bool = False) -> None:
        """Charge the cost of the key's turn. ``wants_more``: `want` is called next."""
        host, announced = place
        members = self._members(host)
        if announced == host:
            members.charge(key, cost_ns)
        else:
            self._members(place).charge(key, cost_ns)
            members.charge(place, cost_ns)
        self._hosts.charge(host, cost_ns)
        if not wants_more:
            self._go_on(place, members)

    def withdraw(self, key: Key, place: tuple[str, str]) -> None:
        """The key no longer wants a turn."""
        host, announced = place
        self._members(host if announced == host else place).withdraw(key)
        self._go_on(place, self._members(host))

    def _go_on(self, place: tuple[str, str], members: Shares[Any]) -> None:
        """Others of the place may want their turns. Else nothing is kept of it."""
        host, announced = place
        if announced != host:
            connections = self._within[place]
            if connections.wanting:
                members.want(place, connections.next_estimate_ns)
            else:
                members.withdraw(place)
                del self._within[place]
        if members.wanting:
            self._hosts.want(host, members.next_estimate_ns)
        else:
            self._hosts.withdraw(host)
            del self._within[host]

    def _members(self, place: str | tuple[str, str]) -> Shares[Any]:
        members = self._within.get(place)
        if members is None:
            members = self._within[place] = Shares()
        return members

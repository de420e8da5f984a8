"""Which addresses were members of a group: what a registration shows that returns, or changes its role."""

from __future__ import annotations

from collections.abc import Set

# Of one group. The one that left first makes room.
FORMER_OF_A_GROUP_MAX = 8
# A longer address is not remembered: one of a host name with its port has less.
ADDRESS_CHARACTERS_MAX = 300


class FormerMembers:
    """Bounded for each group, and forgotten with the group. A restart of the name server forgets all of it.

    With each address the host that announced it last, None if that is not known.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[str, str | None]] = {}

    def note(self, broker_name: str, addr: str, announced_by: str | None) -> None:
        """The address leaves the group, or one of its ids."""
        if len(addr) > ADDRESS_CHARACTERS_MAX:
            return
        former = self._of.setdefault(broker_name, {})
        former.pop(addr, None)
        if len(former) >= FORMER_OF_A_GROUP_MAX:
            del former[next(iter(former))]
        former[addr] = announced_by

    def of(self, broker_name: str) -> dict[str, str | None]:
        """The former members of a group, and who announced them."""
        return self._of.get(broker_name, {})

    def names(self) -> Set[str]:
        """The groups that have former members."""
        return self._of.keys()

    def forget(self, broker_name: str) -> None:
        """The group is gone."""
        self._of.pop(broker_name, None)

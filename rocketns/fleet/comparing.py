"""Compares what several name servers say of the same things: brokers, topics, items of order configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from rocketns.fleet.group_view import GroupView


class FactKind(StrEnum):
    """What name servers may disagree about, in the order of harm."""

    BROKER = "broker"
    TOPIC = "topic"
    ORDER = "order configuration"


class Item(NamedTuple):
    """One thing that name servers may disagree about."""

    kind: FactKind
    name: str


@dataclass(slots=True)
class Reading:
    """The answers of one name server. ``digests``: of its topics' routes; ``order``: its order configuration."""

    addr: str
    groups: dict[str, GroupView] = field(default_factory=dict)
    digests: dict[str, int] = field(default_factory=dict)
    order: dict[str, str] = field(default_factory=dict)

    def of(self, kind: FactKind) -> Mapping[str, Any]:
        """The values of one kind by name."""
        tables: dict[FactKind, Mapping[str, Any]] = {
            FactKind.BROKER: self.groups,
            FactKind.TOPIC: self.digests,
            FactKind.ORDER: self.order,
        }
        return tables[kind]


def differences(readings: Sequence[Reading]) -> Iterator[Item]:
    """What the readings do not agree about, by kind and name."""
    for kind in FactKind:
        tables = [reading.of(kind) for reading in readings]
        for name in sorted(set().union(*tables)):
            first, *others = (table.get(name) for table in tables)
            if any(other != first for other in others):
                yield Item(kind, name)

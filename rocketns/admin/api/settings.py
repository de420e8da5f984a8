"""The configuration and the limits as rows."""

from __future__ import annotations

from typing import Any

from rocketns.admin.api.rows import LimitRow, PropertyRow
from rocketns.config import Configuration, properties
from rocketns.config.limits import FRAME_MAX_LENGTH
from rocketns.config.properties import PREFIX
from rocketns.server.facts.facts import Facts


def property_rows(facts: Facts) -> list[PropertyRow]:
    """A look: all properties. Those that Java does not have come with their prefix."""
    items = facts.configuration.items() | facts.configuration.own_items()
    return [PropertyRow(name, None if properties.is_secret(name) else text) for name, text in items.items()]


def limit_rows(configuration: Configuration) -> list[LimitRow]:
    """Any thread: the limits do not change after the start."""
    limits = configuration.limits
    rows = [_limit_row(name, getattr(limits, one.name), one.metadata) for name, one in
            properties.declared(limits).items()]  # fmt: skip
    frame = LimitRow(FRAME_MAX_LENGTH, limits.frame_bytes_max, "bytes", "one frame", "the connection is closed")
    return [frame, *rows]


def _limit_row(name: str, value: int, metadata: Any) -> LimitRow:
    return LimitRow(f"{PREFIX}{name}", value, metadata["unit"], metadata["doc"], metadata["at_limit"])

"""The properties of brokers that are in the routes without a sign of life: how they come there, how long they stay.

In the configuration file they have the prefix ``rocketns.``, as the limits have: ``rocketns.confirmSeconds=90``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocketns.config import properties
from rocketns.config.limits import PREFIX
from rocketns.config.properties import Effect, prop

START = Effect.START


@dataclass(slots=True)
class RestoreConfig:
    """What a start believes, and for how long."""

    restore: bool = prop(
        True, "read the routes from the journal at the start; without journalPath there is none", START
    )
    restore_max_seconds: int = prop(
        86_400, "time since a broker's last sign of life", START, unit="s", at_limit="it is not restored",
        low=1, high=31_536_000,
    )  # fmt: skip
    confirm_seconds: int = prop(
        90, "time in which a broker that was not heard yet must register or send a heartbeat", START, unit="s",
        at_limit="it is given up", low=1, high=86_400,
    )  # fmt: skip
    ask_unconfirmed: bool = prop(
        True, "connect to the addresses of unconfirmed brokers: one that refuses is given up at once", START
    )

    def update(self, given: Mapping[str, str]) -> None:
        """Read the properties. StartupError for a value out of its range."""
        properties.update_own(self, given, PREFIX)
        properties.check(self, PREFIX)

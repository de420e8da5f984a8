"""The classes of requests, for which rights are given; and what is done with a request that has no right."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Access(StrEnum):
    """What a request is for. A right is given for a class.

    LOOKUP: a route. READ: what costs little. SCAN: lists for which all topics are walked. CONFIG: the configuration of
    the name server. BROKER: what brokers send of themselves. ADMIN: what changes the routes of others, the KV table or
    the configuration. OFF: codes that nobody answers.
    """

    LOOKUP = "lookup"
    READ = "read"
    SCAN = "scan"
    CONFIG = "config"
    BROKER = "broker"
    ADMIN = "admin"
    OFF = "off"


RIGHTS = tuple(access for access in Access if access is not Access.OFF)


class Mode(IntEnum):
    """OFF: nothing is decided, as in Java. OBSERVE: what would be refused is told, and answered. ENFORCE: refused."""

    OFF = 0
    OBSERVE = 1
    ENFORCE = 2

    @property
    def word(self) -> str:
        """As the policy has it."""
        return self.name.lower()


MODES = {mode.word: mode for mode in Mode}

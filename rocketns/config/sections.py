"""All classes of rocketns' own properties."""

from __future__ import annotations

from typing import get_type_hints

from rocketns.config import properties
from rocketns.config.admin import AccessConfig, AdminConfig
from rocketns.config.discovery import DiscoveryConfig
from rocketns.config.java import CompatibleConfig
from rocketns.config.journal import JournalConfig
from rocketns.config.limits import Limits
from rocketns.config.properties import OwnConfig
from rocketns.config.restoring import RestoreConfig


class OwnSections:
    """An object of each class of rocketns' own properties. This is their only list: a new class is a line here."""

    limits: Limits
    journal: JournalConfig
    restore: RestoreConfig
    admin: AdminConfig
    discovery: DiscoveryConfig
    access: AccessConfig
    compatible: CompatibleConfig

    def __init__(self) -> None:
        for name, kind in OWN.items():
            setattr(self, name, kind())

    def own(self) -> list[OwnConfig]:
        """The objects, in the order of the list."""
        return [getattr(self, name) for name in OWN]


OWN: dict[str, type[OwnConfig]] = get_type_hints(OwnSections)
OWN_NAMES = frozenset(kind.prefix + name for kind in OWN.values() for name in properties.declared(kind))

"""Every option, default and limit: Java's properties under Java's names, and rocketns' own limits."""

from rocketns.config.admin import AdminConfig
from rocketns.config.configuration import Configuration
from rocketns.config.discovery import DiscoveryConfig
from rocketns.config.java import CompatibleConfig, NamesrvConfig, NettyServerConfig
from rocketns.config.journal import JournalConfig
from rocketns.config.limits import Limits
from rocketns.config.restoring import RestoreConfig

__all__ = [
    "AdminConfig",
    "CompatibleConfig",
    "Configuration",
    "DiscoveryConfig",
    "JournalConfig",
    "Limits",
    "NamesrvConfig",
    "NettyServerConfig",
    "RestoreConfig",
]

"""The properties of the own half: the operator's file, then the upstream's own, then what a half must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from rocketns.config import properties
from rocketns.config.java import NamesrvConfig, NettyServerConfig

# What the upstream's configuration says of its own machine, or of what rocketns has not.
_NOT_TAKEN = frozenset({
    "bindAddress", "configStorePath", "enableControllerInNamesrv", "kvConfigPath", "listenPort", "productEnvName",
})  # fmt: skip
# All requests come from one address. Limits by host would be limits of everybody; those in bytes are an eighth.
_BYTES = str(4 * 1024**3)


def taken_from(configuration: str) -> dict[str, str]:
    """Those lines of the upstream's configuration (request 319) that rocketns would start with."""
    declared = properties.declared(NamesrvConfig) | properties.declared(NettyServerConfig)
    given = dict(line.split("=", 1) for line in configuration.splitlines() if "=" in line)
    return {
        name: text for name, text in given.items()
        if name in declared and name not in _NOT_TAKEN and _is_usable(declared[name], text)
    }  # fmt: skip


def _is_usable(declaration: Field[Any], text: str) -> bool:
    value = properties.parse(declaration, text)
    low, high = declaration.metadata["bounds"]
    return value is not None and (declaration.type != "int" or low <= value <= high)


def settings(
    given: Mapping[str, str], upstream: Mapping[str, str], folder: Path, journal: str | None, ns: str
) -> dict[str, str]:
    """All properties of the half. ``given`` are the operator's. ``folder`` is its own, ``ns`` the journal's id."""
    forced = {
        "bindAddress": "127.0.0.1", "listenPort": "0", "kvConfigPath": str(folder / "kvConfig.json"),
        "rocketns.mute": "true",
        "rocketns.hostConnectionsPerSecond": "0", "rocketns.hostRequestsPerSecond": "0",
        "rocketns.incomingBytesMax": _BYTES, "rocketns.outgoingBytesTotalMax": _BYTES,
    }  # fmt: skip
    journalled = {} if journal is None else {"journalPath": journal, "journalNs": given.get("journalNs") or ns}
    return dict(upstream) | dict(given) | forced | journalled

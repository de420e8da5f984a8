"""White lists of RocketMQ 4: ``*``, ``10.0.0.*``, ``10.0.0.1-20``, ``10.0.0.{1,2}``, one address, several with ``,``.

RemoteAddressStrategyFactory of RocketMQ 4.9. IPv6 has the same forms, in its last groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network, summarize_address_range

from rocketns.access.principal import Network

EVERYWHERE = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")


def networks_of(text: str) -> Iterator[Network]:
    """The networks of one entry. ValueError. An empty text is nobody."""
    stripped = text.strip()
    if stripped == "":
        return
    if stripped in EVERYWHERE:
        yield from (ip_network("0.0.0.0/0"), ip_network("::/0"))
        return
    for item in _items(stripped):
        yield from _networks(item)


def _items(text: str) -> list[str]:
    """``a,b`` are two, ``10.0.0.{1,2}`` are ``10.0.0.1`` and ``10.0.0.2``."""
    found = re.fullmatch(r"([^{}]*)\{([^{}]*)\}", text)
    if found is None:
        return [item.strip() for item in text.split(",") if item.strip()]
    return [found[1] + item.strip() for item in found[2].split(",")]


def _networks(item: str) -> Iterator[Network]:
    separator, highest = (":", 0xFFFF) if ":" in item else (".", 255)
    if "*" not in item and "-" not in item:
        yield ip_network(ip_address(item))
        return
    low, high = _bounds(item.split(separator), separator, highest)
    yield from summarize_address_range(ip_address(low), ip_address(high))


def _bounds(parts: list[str], separator: str, highest: int) -> tuple[str, str]:
    """The first and the last address. After the first part with ``*`` or ``-`` there may only be ``*``."""
    open_at = next(number for number, part in enumerate(parts) if "*" in part or "-" in part)
    if any(part != "*" for part in parts[open_at + 1 :]):
        raise ValueError(f"{separator.join(parts)!r}: after * and - only * may follow")
    most = f"{highest:x}" if separator == ":" else str(highest)
    low, _, high = (f"0-{most}" if parts[open_at] == "*" else parts[open_at]).partition("-")
    rest = len(parts) - open_at - 1
    lows = [*parts[:open_at], low, *["0"] * rest]
    highs = [*parts[:open_at], high, *[most] * rest]
    return separator.join(lows), separator.join(highs)

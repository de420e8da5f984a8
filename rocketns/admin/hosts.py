"""Which names a request may use for the management port.

A page in a browser can have a name of its own that its owner suddenly points to this machine (DNS rebinding). The
browser then lets that page read the answers. Its requests have that name as Host, so a name that nobody gave this
server is answered 421. An address cannot be pointed elsewhere. A request without Host comes from no browser.

Probes and metrics are for every name: they name no topic, address or client, and a scraper in another container asks by
a name that this server does not know.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from aiohttp import web

LOOPBACK = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))
OPEN = frozenset(("/metrics", "/livez", "/readyz"))
SHOWN_CHARACTERS_MAX = 100
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)]|([A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


class Hosts:
    """The names of this server. One that begins with a dot stands for all names that end with it."""

    def __init__(self, names: Iterable[str]) -> None:
        known = {_plain(name) for name in names}
        self._exact = LOOPBACK | {name for name in known if not name.startswith(".")}
        self._endings = tuple(name for name in known if name.startswith("."))

    def check(self, request: web.Request) -> None:
        """HTTPMisdirectedRequest if the request is for another server, and not `OPEN`."""
        if request.path in OPEN:
            return
        for given in request.headers.getall("Host", ()):
            if not self.has(given):
                text = (f"this server does not answer under the name {given[:SHOWN_CHARACTERS_MAX]!r}: use its IP "
                        "address, or add the name to rocketns.adminHosts\n")  # fmt: skip
                raise web.HTTPMisdirectedRequest(text=text)

    def has(self, given: str) -> bool:
        """Whether a Host header, with or without a port, is an address or one of the names."""
        found = HOST.fullmatch(given)
        if found is None:
            return False
        name = _plain(found[1] or found[2])
        return name in self._exact or name.endswith(self._endings) or _is_address(name)


def _plain(name: str) -> str:
    """Names are the same in capitals, and with a dot at their end."""
    return name.lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

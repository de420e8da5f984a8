"""The name servers of ``--name-servers``: ``[name=]host:port``, separated by commas, semicolons or spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rocketns.addresses import bare, listed, read_server, split, with_port
from rocketns.client.resolving import every_address
from rocketns.config.journal import NS_SAFE
from rocketns.errors import RocketnsError

NAME_SERVERS_MAX = 16
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NS_CHARS_MAX = 100


class NamesError(RocketnsError):
    """The list is wrong; the text names the wrong part."""


class Named(NamedTuple):
    """A name server to watch. ``ns`` is its id in journals."""

    ns: str
    addr: str


def parse_names(text: str) -> list[Named]:
    """The name servers of a list. NamesError names the one that is wrong."""
    found = [_named(one) for one in listed(text)]
    if not 1 <= len(found) <= NAME_SERVERS_MAX:
        raise NamesError(f"1 to {NAME_SERVERS_MAX} name servers expected, not {len(found)}")
    for key in ("ns", "addr"):
        values = [getattr(one, key) for one in found]
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise NamesError(f"{twice} is there twice" + ("; NAME=HOST:PORT gives another name" if key == "ns" else ""))
    return found


async def every_named(names: Sequence[Named]) -> list[Named]:
    """Likewise, with one for each address of a name that has several; the address is added to its id. NamesError."""
    found = []
    for one in names:
        addrs = await every_address(one.addr)
        found += [Named(f"{one.ns}-{_safe(split(addr)[0])}", addr) for addr in addrs] if len(addrs) > 1 else [one]
    if len(found) > NAME_SERVERS_MAX:
        raise NamesError(f"they have {len(found)} addresses, and at most {NAME_SERVERS_MAX} are watched")
    return found


def _safe(host: str) -> str:
    return _UNSAFE.sub("-", bare(host))[:_NS_CHARS_MAX]


def _named(text: str) -> Named:
    name, equals, addr = text.rpartition("=")
    server = read_server(addr)
    if server is None:
        raise NamesError(f"{text}: HOST:PORT or NAME=HOST:PORT expected")
    if equals and not NS_SAFE.fullmatch(name):
        raise NamesError(f"{text}: the name may only have letters, digits, '.', '_' and '-', at most 128")
    host, port = server
    ns = name or f"{_safe(host)}-{port}"
    return Named(ns, with_port(host, port))

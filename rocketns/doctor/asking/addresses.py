"""Where an address is, and how a connection to it is opened. A host name is resolved once."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
from dataclasses import dataclass

from rocketns.addresses import Address, literal, split
from rocketns.doctor.facts.reach import Outcome, Place
from rocketns.errors import RocketnsError

IPS_MAX = 16  # of one host name; the others are not shown
# Docker's bridges, unless it is configured otherwise: 172.17.0.0/16 is docker0, the next ones are those of projects.
# 172.31.0.0/16 is left out: it is the default network of a cloud.
_DOCKER = tuple(ipaddress.ip_network(f"172.{second}.0.0/16") for second in range(17, 31))
# podman; pods of flannel, of k3s
_CONTAINERS = (*_DOCKER, *map(ipaddress.ip_network, ("10.88.0.0/16", "10.244.0.0/16", "10.42.0.0/16")))
_NO_HOST = {errno.EHOSTUNREACH, errno.EHOSTDOWN}
_UNREACHABLE = {errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}


class UnreachedError(RocketnsError):
    """No connection, or no answer over it."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect to. ``ips`` begins with the one that Java's clients take."""

    addr: str
    ips: tuple[str, ...]
    port: int


def place_of(ip: str) -> Place:
    """Where an IP address is; UNKNOWN for any other text."""
    found = literal(ip.partition("%")[0])
    if found is None:
        return Place.UNKNOWN
    if found.is_loopback or found.is_unspecified:
        return Place.LOOPBACK
    if found.is_link_local:
        return Place.LINK_LOCAL
    if any(found in network for network in _CONTAINERS):
        return Place.CONTAINER
    return Place.PRIVATE if _is_private(found) else Place.PUBLIC


def _is_private(ip: Address) -> bool:
    """Also the shared addresses of carriers, which some clouds give to pods."""
    return ip.is_private or (ip.version == 4 and ip in ipaddress.ip_network("100.64.0.0/10"))


async def resolve(addr: str, within_s: float) -> Target:
    """IPv4 addresses come first, as Java prefers them. UnreachedError: the host has no address."""
    host, port = split(addr)
    if port is None:
        raise UnreachedError(Outcome.UNRESOLVED, "it is no host:port")
    if literal(host.partition("%")[0]) is not None:
        return Target(addr, (host,), port)
    try:
        async with asyncio.timeout(within_s):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise UnreachedError(Outcome.UNRESOLVED, f"the resolver did not answer in {within_s:g} s") from None
    except (OSError, ValueError) as error:  # ValueError: a host that cannot be one
        raise UnreachedError(Outcome.UNRESOLVED, str(error)) from error
    ordered = sorted(found, key=lambda one: one[0] != socket.AF_INET)
    return Target(addr, tuple(dict.fromkeys(str(one[4][0]) for one in ordered))[:IPS_MAX], port)


async def connect(target: Target, within_s: float) -> socket.socket:
    """A connected socket to the first IP address. UnreachedError if there is none in time."""
    loop = asyncio.get_running_loop()
    opened: socket.socket | None = None
    try:
        async with asyncio.timeout(within_s):
            family, kind, _, _, where = (await loop.getaddrinfo(
                target.ips[0], target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))[0]  # fmt: skip
            opened = socket.socket(family, kind)
            opened.setblocking(False)
            await loop.sock_connect(opened, where)
    except TimeoutError:
        _close(opened)
        raise UnreachedError(Outcome.TIMED_OUT, f"no connection in {within_s:g} s") from None
    except OSError as error:
        _close(opened)
        raise UnreachedError(_outcome(error), str(error)) from error
    return opened


def _close(opened: socket.socket | None) -> None:
    with contextlib.suppress(OSError):
        if opened is not None:
            opened.close()


def _outcome(error: OSError) -> Outcome:
    if isinstance(error, ConnectionRefusedError):
        return Outcome.REFUSED
    if error.errno in _NO_HOST:
        return Outcome.NO_HOST
    return Outcome.UNREACHABLE if error.errno in _UNREACHABLE else Outcome.CLOSED

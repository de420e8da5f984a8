"""The listening socket, and the open files that its connections need."""

from __future__ import annotations

import logging
import resource
import socket

from rocketns.config import Limits
from rocketns.errors import StartupError

log = logging.getLogger("rocketns.controller")

BACKLOG = 1024  # NettyRemotingServer ignores serverSocketBacklog too
SPARE_DESCRIPTORS = 64
CONNECTIONS_MIN = 16  # what a small cluster needs; with fewer the server does not start


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address. It accepts nothing before `listen`. StartupError if the address is not usable."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except (OSError, OverflowError, TypeError, ValueError) as error:
        bound.close()
        raise StartupError(f"Failed to bind to {host}:{port}: {error}") from error
    return bound


def listen(bound: socket.socket) -> None:
    """Let connections come. StartupError if another process listens at the address."""
    try:
        bound.listen(BACKLOG)
    except OSError as error:
        host, port = bound.getsockname()[:2]
        raise StartupError(f"Failed to bind to {host}:{port}: {error}") from error


def fit_connections(limits: Limits) -> None:
    """Raise the soft limit on open files for ``connectionsMax``. Lower ``connectionsMax`` to what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max + SPARE_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed < min(wanted, SPARE_DESCRIPTORS + CONNECTIONS_MIN):
        raise StartupError(
            f"`ulimit -n` allows {allowed} open files, but {SPARE_DESCRIPTORS} are needed for the server itself and "
            f"one for each connection: allow at least {SPARE_DESCRIPTORS + CONNECTIONS_MIN}, better {wanted}"
        )
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        limits.lower_connections(allowed - SPARE_DESCRIPTORS)
        log.warning("at most %d connections: `ulimit -n` allows %d open files", limits.connections_max, allowed)

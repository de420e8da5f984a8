"""The listening socket, the open files that its connections need, and who else listens at a port."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocketns.addresses import ANY_ADDRESS, bare, unmapped
from rocketns.config import Limits
from rocketns.errors import StartupError
from rocketns.javatext import parse_int
from rocketns.logs import one_line

LISTENS = "0A"
COMMAND_CHARACTERS_MAX = 120


def listeners(port: int, proc: Path = Path("/proc")) -> list[str]:
    """``process PID (COMMAND)`` for each process that listens at the port and may be read; empty if none may."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    processes = sorted((one for one in proc.iterdir() if one.name.isdecimal()), key=lambda one: int(one.name))
    return [f"process {folder.name} ({_command(folder)})" for folder in processes if sockets & _opened(folder)]


def _inodes(port: int, proc: Path) -> Iterator[str]:
    """Of listening sockets. A line has: number, local address:port in hexadecimal, remote one, state, …, inode."""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _opened(process: Path) -> set[str]:
    """What its descriptors lead to. Those of other users are seen by root alone, and files may be closed meanwhile."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        words = "ended meanwhile"
    return one_line(words if len(words) <= COMMAND_CHARACTERS_MAX else f"{words[:COMMAND_CHARACTERS_MAX]}…")


log = logging.getLogger("rocketns.controller")

BACKLOG = 1024  # NettyRemotingServer ignores serverSocketBacklog too
# A passed socket goes on listening while the server restarts, and all clients connect again. The kernel limits this
# number to net.core.somaxconn.
BACKLOG_PASSED = 65_535
# Few enough that the connections beyond connectionsMax are closed before the spare descriptors run out.
ACCEPTED_AT_ONCE_MAX = 16
PASSED_FD = 3  # SD_LISTEN_FDS_START
SPARE_DESCRIPTORS = 64
# A system without IPv6, or one that has it switched off.
NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
CONNECTIONS_MIN = 16  # what a small cluster needs; with fewer the server does not start


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that is bound to its address. It accepts nothing before `listen`, unless it was passed.

    ``chosen_by`` is the property or option that has the port.
    """

    socket: socket.socket
    is_passed: bool = False
    chosen_by: str = "listenPort"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self.socket.getsockname()[:2]
        return unmapped(host), port

    def listen(self) -> None:
        """Let connections come. StartupError if another process listens at the address."""
        try:
            self.socket.listen(BACKLOG_PASSED if self.is_passed else BACKLOG)
        except OSError as error:
            raise StartupError(_not_bound(*self.address, error, self.chosen_by)) from error

    async def serve(self, make_protocol: Callable[[], asyncio.BaseProtocol]) -> asyncio.Server:
        """Accept connections on the running loop, a few at a time.

        asyncio takes its backlog for that number, too, and listens with it; so the socket listens again.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_server(make_protocol, sock=self.socket, backlog=ACCEPTED_AT_ONCE_MAX)
        self.listen()
        return server


def bind(host: str, port: int, *, ipv4_only: bool = False, chosen_by: str = "listenPort") -> Listening:
    """A socket of this server's own. StartupError if the address is not usable.

    A name that has IPv4 and IPv6 addresses is an IPv4 address, as in Java.
    ``0.0.0.0`` and ``::`` are every address, of IPv4 and of IPv6, as in Java. With ``ipv4_only``
    (``java.net.preferIPv4Stack``), or on a machine without IPv6, ``0.0.0.0`` is every IPv4 address.
    """
    try:
        if bare(host) in ANY_ADDRESS:
            bound = _bound_to_every_address(port, ipv4_only and bare(host) != "::")
        else:
            found = socket.getaddrinfo(bare(host), None, type=socket.SOCK_STREAM)
            family, _, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
            bound = _bound_to(family, (address[0], port, *address[2:]))
    except (OSError, OverflowError, TypeError, ValueError) as error:
        raise StartupError(_not_bound(host, port, error, chosen_by)) from error
    return Listening(bound, chosen_by=chosen_by)


def _not_bound(host: str, port: int, error: Exception, chosen_by: str) -> str:
    """The message for the operator; where the port is in use, with its users and the way to another one."""
    message = f"Failed to bind to {host}:{port}: {error}"
    if not isinstance(error, OSError) or error.errno != errno.EADDRINUSE:
        return message
    users = listeners(port)
    said = f"It is used by {', '.join(users)}" if users else "Root sees by ss -ltnp which process uses it"
    return f"{message}. {said}. Stop that process, or choose another port by {chosen_by}"


def _bound_to_every_address(port: int, ipv4_only: bool) -> socket.socket:
    if not ipv4_only:
        try:
            return _bound_to(socket.AF_INET6, ("::", port))
        except OSError as error:
            if error.errno not in NO_IPV6:
                raise
    return _bound_to(socket.AF_INET, ("0.0.0.0", port))


def _bound_to(family: int, address: tuple[object, ...]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound


def passed(environment: Mapping[str, str], pid: int) -> Listening | None:
    """The socket that the supervisor passed to this process, as sd_listen_fds(3) says; None if it passed none.

    StartupError unless it is one listening TCP socket. Connections to a socket that nobody accepts would wait for ever.
    """
    if "LISTEN_PID" not in environment:
        return None
    if environment["LISTEN_PID"] != str(pid):
        log.warning("the sockets of LISTEN_FDS are not used: they are for process %s, and this is %d. A script that "
                    "starts rocketns must use exec", environment["LISTEN_PID"], pid)  # fmt: skip
        return None
    count, names = environment.get("LISTEN_FDS", ""), environment.get("LISTEN_FDNAMES", "no names")
    if parse_int(count) == 0:
        return None
    if parse_int(count) != 1:
        raise StartupError(f"LISTEN_FDS is {count!r} ({names}), but rocketns listens at one socket: give its socket "
                           "unit one ListenStream=")  # fmt: skip
    return Listening(_checked(PASSED_FD, names), is_passed=True)


def _checked(descriptor: int, names: str) -> socket.socket:
    try:
        bound = socket.socket(fileno=descriptor)
        is_tcp = bound.family in (socket.AF_INET, socket.AF_INET6) and bound.type == socket.SOCK_STREAM
        listens = is_tcp and bound.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        os.set_inheritable(descriptor, False)
    except OSError as error:
        raise StartupError(f"the socket that the supervisor passed ({names}) is not usable: {error}") from error
    if not listens:
        raise StartupError(f"what the supervisor passed ({names}) is no listening TCP socket: the socket unit needs "
                           "ListenStream=host:port and Accept=no")  # fmt: skip
    return bound


def fit_connections(limits: Limits) -> None:
    """Raise the soft limit on open files for ``connectionsMax`` and ``outgoingConnectionsMax``. Lower both to what the
    system allows: at least `CONNECTIONS_MIN` are accepted. A quarter of the others is for outgoing ones.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max + limits.outgoing_connections_max + SPARE_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed < min(wanted, SPARE_DESCRIPTORS + CONNECTIONS_MIN):
        raise StartupError(
            f"`ulimit -n` allows {allowed} open files, but {SPARE_DESCRIPTORS} are needed for the server itself and "
            f"one for each connection: allow at least {SPARE_DESCRIPTORS + CONNECTIONS_MIN}, better {wanted}"
        )
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        left = max(0, allowed - SPARE_DESCRIPTORS - CONNECTIONS_MIN)
        outgoing_max = min(limits.outgoing_connections_max, left // 4)
        limits.lower_connections(min(limits.connections_max, allowed - SPARE_DESCRIPTORS - outgoing_max), outgoing_max)
        log.warning("at most %d connections: `ulimit -n` allows %d open files", limits.connections_max, allowed)

"""What `rocketns collect` is asked to do, and the name servers of ``--name-servers``: ``[name=]host:port``."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rocketns.addresses import bare, listed, read_server, split, with_port
from rocketns.client.resolving import every_address
from rocketns.config.journal import NS_SAFE, JournalConfig
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError

if TYPE_CHECKING:  # the options are read where no package is installed
    from rocketns.client.name_server import Signer

NAME_SERVERS_MAX = 16
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NS_CHARS_MAX = 100


class NamesError(RocketnsError, ArgumentTypeError):
    """The list is wrong; the text names the wrong part."""


class Named(NamedTuple):
    """A name server to watch. ``ns`` is its id in journals."""

    ns: str
    addr: str


def parse_names(text: str) -> list[Named]:
    """A type for argparse: the name servers of a list. NamesError names the one that is wrong."""
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


INTERVAL_S, INTERVAL_S_MIN, INTERVAL_S_MAX = 5.0, 1.0, 300.0
PER_SECOND, PER_SECOND_MIN, PER_SECOND_MAX = 50, 2, 2_000
TIMEOUT_S, TIMEOUT_S_MIN, TIMEOUT_S_MAX = 5.0, 0.1, 60.0
FOR_S_MIN, FOR_S_MAX = 1.0, 366 * 86_400.0
# A hostile name server that shows other routes at each look fills as many bytes, and loses its own history for it.
KEEP_BYTES, KEEP_BYTES_MIN, KEEP_BYTES_MAX = 10 * 1024**3, 8 * 1024**2, 1 << 40
# The file that is being written counts only when it is closed, so it has at most this part of the bytes.
OPEN_FILE_SHARE = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """``for_s``: end after this time; None: at a signal. ``ask_brokers``: ask brokers that vanished whether they run.
    ``timeout_s``: for each answer. ``keep_bytes``: of one name server's journal."""

    name_servers: list[Named]
    journal: str
    interval_s: float = INTERVAL_S
    per_second: int = PER_SECOND
    ask_brokers: bool = False
    for_s: float | None = None
    timeout_s: float = TIMEOUT_S
    tls: TlsConfig | None = None
    signer: Signer | None = None
    keep_bytes: int = KEEP_BYTES

    @property
    def journal_config(self) -> JournalConfig:
        """Of each name server's journal."""
        config = JournalConfig(journal_path=self.journal)
        file_bytes = min(config.journal_rotation_bytes, self.keep_bytes // OPEN_FILE_SHARE)
        return replace(config, journal_rotation_bytes=file_bytes, journal_retention_days=0,
                       journal_retention_bytes=self.keep_bytes - file_bytes)  # fmt: skip

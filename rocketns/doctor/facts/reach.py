"""How an address behaves when a connection is opened to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What happened at an address."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TIMED_OUT = "timed out"  # no connection in time
    UNREACHABLE = "unreachable"  # the network says so: no route to the host, network unreachable
    NO_HOST = "no host"  # of brokers: no machine answers for the address, or a firewall rejects connections to it
    UNRESOLVED = "unresolved"  # the host name has no address
    SILENT = "silent"  # a connection, and no answer in time
    CLOSED = "closed"  # the peer ended the connection without an answer
    SPEAKS_TLS = "speaks TLS"  # it answers with TLS only, and was asked without
    SPEAKS_PLAIN = "speaks plain"  # it answers without TLS only, and was asked with it
    OTHER_PROTOCOL = "other protocol"  # what it sends is no frame of RocketMQ
    NOT_TRIED = "not tried"


class Place(StrEnum):
    """Where an IP address is."""

    LOOPBACK = "loopback"
    CONTAINER = "container"  # a network that container engines use by default: Docker's bridges, pod networks
    LINK_LOCAL = "link-local"
    PRIVATE = "private"
    PUBLIC = "public"
    UNKNOWN = "unknown"  # the host name has no address


@dataclass(frozen=True, slots=True)
class AddressFacts:
    """One address that a broker announces. ``addr`` is ``host:port`` as announced, ``ips`` what its host resolves to.

    ``ms`` is the time to open the connection. ``error`` is the system's message, empty if there was none. ``is_here``:
    the address is one of this machine.
    """

    addr: str
    ips: tuple[str, ...] = ()
    place: Place = Place.UNKNOWN
    outcome: Outcome = Outcome.NOT_TRIED
    ms: float | None = None
    error: str = ""
    is_here: bool = False

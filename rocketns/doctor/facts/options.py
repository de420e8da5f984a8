"""What the user asked: which name servers, topics and groups, and from where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Addresses are ``host:port``. ``client_version`` is an ordinal of MQVersion; None: not given.

    ``from_client``: this machine is where the client runs, so what cannot be reached from here is the fault.
    ``tls``: connections are opened with TLS. ``timeout_s`` is for each connection and for each answer.
    """

    name_servers: tuple[str, ...]
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()
    from_client: bool = False
    client_version: int | None = None
    tls: bool = False
    timeout_s: float = 5.0
    watch_s: float = 0.0

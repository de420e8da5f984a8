"""The other name servers of the cluster, and the address server that tells brokers and clients where all are."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.addresses import ANY_ADDRESS, bare, is_host, listed, with_port
from rocketns.config.address_texts import check_address, check_addresses
from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop
from rocketns.errors import StartupError
from rocketns.javatext import parse_int

START, LIVE = Effect.START, Effect.LIVE


@dataclass(slots=True)
class DiscoveryConfig(OwnConfig):
    """Who the name servers are. ``peers`` may change while the server runs."""

    title = "Name servers of the cluster"

    peers: str = prop(
        "",
        "all name servers of the cluster, Java's or rocketns: host:port;host:port. The list may contain this one",
        LIVE,
    )
    announced_address: str = prop(
        "", "host:port at which brokers and clients reach this name server; empty is bindAddress and listenPort", START
    )
    address_server: str = prop(
        "",
        "host:port, or port, of an HTTP server that gives brokers and clients the list of ready name servers of "
        "rocketns.peers; empty is off. It needs the extra rocketns[admin]",
        START,
    )
    address_server_tls: bool = prop(
        False,
        "true: the address server takes TLS alone, with the files and the client authentication of tls.server.…. "
        "Brokers and Java clients ask over plain HTTP only",
        START,
    )

    peer_lookups_per_second: int = prop(
        50,
        "topics whose routes are read from each peer that is not rocketns, to compare them; a round of 10,000 topics "
        "takes 200 s",
        START,
        unit="requests/s",
        at_limit="the other topics are read later",
        low=1,
        high=10_000,
    )

    mute: bool = prop(
        False,
        "answer as always, and do nothing else that others notice: no connection to brokers or other name servers, no "
        "notification, no routes from seedServers, no address server, and changes of KV items and properties in memory "
        "alone. `rocketns shadow` sets it",
        START,
    )

    def check_texts(self) -> None:
        """StartupError for a text that cannot be an address."""
        check_addresses(f"{PREFIX}peers", self.peer_addresses)
        if self.announced_address:
            check_address(f"{PREFIX}announcedAddress", self.announced_address)
        if self.address_server:
            self.address_server_at("")

    @property
    def peer_addresses(self) -> list[str]:
        """``peers`` one by one."""
        return listed(self.peers)

    def own_address(self, bind_address: str, port: int) -> str:
        """Where others reach this name server; empty if it listens at every address and no property names one."""
        if self.announced_address:
            return self.announced_address
        host = bare(bind_address)
        return "" if host in ANY_ADDRESS else with_port(host, port)

    def address_server_at(self, bind_address: str) -> tuple[str, int]:
        """Host and port of the address server; a port alone means the name server's ``bind_address``."""
        host, _, port_text = self.address_server.rpartition(":")
        port = parse_int(port_text)
        if port is None or not 0 <= port < 65_536 or not (is_host(host) or host == ""):
            raise StartupError(f"{PREFIX}addressServer is {self.address_server!r}, but must be host:port or a port")
        return bare(host) or bind_address, port

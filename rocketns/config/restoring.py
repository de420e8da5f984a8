"""The properties of brokers that are in the routes without a sign of life: how they come there, how long they stay."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.addresses import listed
from rocketns.config.address_texts import Network, check_addresses, read_networks
from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop

START = Effect.START


@dataclass(slots=True)
class RestoreConfig(OwnConfig):
    """Which routes a start restores, and how long brokers that were not heard stay in them."""

    title = "Restart"

    restore: bool = prop(
        True, "read the routes from the journal at the start; without journalPath there is none", START
    )
    restore_max_seconds: int = prop(
        86_400, "time since a broker's last sign of life", START, unit="s", at_limit="it is not restored",
        low=1, high=31_536_000,
    )  # fmt: skip
    confirm_seconds: int = prop(
        90, "time in which an unconfirmed broker must register or send a heartbeat", START, unit="s",
        at_limit="the broker is removed", low=1, high=86_400,
    )  # fmt: skip
    ask_unconfirmed: bool = prop(
        True, "connect to the addresses of unconfirmed brokers: a broker that refuses is removed at once", START
    )
    ask_networks: str = prop(
        "", "networks in which the server connects to brokers' addresses, to ask unconfirmed brokers and to notify, "
        "in addition to the host that announced the address: 10.0.0.0/8;192.0.2.7. Loopback and link-local addresses "
        "are in none that is larger than theirs", START,
    )  # fmt: skip

    seed_servers: str = prop(
        "",
        "name servers from which a start without a journal, or with an old one, reads the routes: host:port;host:port",
        START,
    )
    seed_seconds: int = prop(
        30, "time that reading the routes from another name server may take", START, unit="s",
        at_limit="the start goes on without them", low=1, high=600,
    )  # fmt: skip
    mass_expiry_percent: int = prop(
        0, "share of the live brokers that may be silent at the same time; 0 is no limit, as in Java, and 50 is "
        "recommended with 10 brokers or more", START, unit="%",
        at_limit="if more are silent, the name server takes its own network for the reason and keeps them, unconfirmed",
        low=0, high=99,
    )  # fmt: skip
    mass_expiry_seconds: int = prop(
        600, "time in which a broker that fell silent together with many others must be heard again", START, unit="s",
        at_limit="the broker is removed", low=1, high=86_400,
    )  # fmt: skip

    def check_texts(self) -> None:
        """StartupError for an address or a network that is none, and for too many."""
        check_addresses(f"{PREFIX}seedServers", self.seeds)
        read_networks(f"{PREFIX}askNetworks", self.ask_networks)

    @property
    def networks(self) -> list[Network]:
        """``askNetworks`` one by one."""
        return read_networks(f"{PREFIX}askNetworks", self.ask_networks)

    @property
    def seeds(self) -> list[str]:
        """``seedServers`` one by one."""
        return listed(self.seed_servers)
